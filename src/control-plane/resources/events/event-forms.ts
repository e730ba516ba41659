import type { Event } from '../../../api/core/event.ts';
import type { Event as EventsV1Event } from '../../../api/events/event.ts';

/**
 * Converts an event of events.k8s.io/v1 to the core event as which it is stored (upstream: events/v1 conversion.go).
 */
export function eventToStored(event: EventsV1Event): Event {
  const {
    regarding,
    note,
    reportingController,
    reportingInstance,
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    ...shared
  } = event;
  return {
    ...shared,
    kind: 'Event',
    apiVersion: 'v1',
    involvedObject: regarding ?? {},
    reportingComponent: reportingController ?? '',
    reportingInstance: reportingInstance ?? '',
    ...(note !== undefined && { message: note }),
    ...(deprecatedSource !== undefined && { source: deprecatedSource }),
    ...(deprecatedFirstTimestamp !== undefined && { firstTimestamp: deprecatedFirstTimestamp }),
    ...(deprecatedLastTimestamp !== undefined && { lastTimestamp: deprecatedLastTimestamp }),
    ...(deprecatedCount !== undefined && { count: deprecatedCount }),
  };
}

export function eventFromStored(event: Event): EventsV1Event {
  const {
    involvedObject,
    message,
    reportingComponent,
    reportingInstance,
    source,
    firstTimestamp,
    lastTimestamp,
    count,
    series,
    ...shared
  } = event;
  const { count: seriesCount = 0, ...seriesRest } = series ?? {};
  return {
    ...shared,
    kind: 'Event',
    apiVersion: 'events.k8s.io/v1',
    regarding: involvedObject,
    ...(reportingComponent !== '' && { reportingController: reportingComponent }),
    ...(reportingInstance !== '' && { reportingInstance }),
    ...(series !== undefined && { series: { ...seriesRest, count: seriesCount } }),
    ...(message !== undefined && { note: message }),
    ...(source !== undefined && { deprecatedSource: source }),
    ...(firstTimestamp !== undefined && { deprecatedFirstTimestamp: firstTimestamp }),
    ...(lastTimestamp !== undefined && { deprecatedLastTimestamp: lastTimestamp }),
    ...(count !== undefined && { deprecatedCount: count }),
  };
}
