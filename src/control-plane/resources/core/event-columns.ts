import type { Event } from '../../../api/core/event.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { formatAge } from '../print-cells.ts';

/** Upstream's `--event-ttl`. */
export const EVENT_TTL_SECONDS = 3600;

function firstSeen({ firstTimestamp, eventTime }: Event, nowMs: number): string {
  return formatAge(firstTimestamp ?? eventTime, nowMs);
}

function lastSeen(event: Event, nowMs: number): string {
  if (event.series !== undefined) return formatAge(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp === undefined ? firstSeen(event, nowMs) : formatAge(event.lastTimestamp, nowMs);
}

function objectText({ involvedObject: { kind = '', name = '' } }: Event): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function sourceText({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || reportingComponent;
  const instance = source?.host || reportingInstance;
  return instance === '' ? component : `${component}, ${instance}`;
}

type EventColumn = Omit<TableColumn<Event>, 'cell'> & { readonly cell: (event: Event, nowMs: number) => string };

export const eventColumns: readonly EventColumn[] = [
  { name: 'Last Seen', type: 'string', description: 'Time since it happened last.', cell: lastSeen },
  { name: 'Type', type: 'string', description: 'Normal or Warning.', cell: ({ type }) => type ?? '' },
  { name: 'Reason', type: 'string', description: 'What happened, in a word.', cell: ({ reason }) => reason ?? '' },
  { name: 'Object', type: 'string', description: 'To what it happened.', cell: objectText },
  {
    name: 'Subobject',
    type: 'string',
    description: 'To which part of that.',
    priority: 1,
    cell: ({ involvedObject }) => involvedObject.fieldPath ?? '',
  },
  { name: 'Source', type: 'string', description: 'Who says so.', priority: 1, cell: sourceText },
  {
    name: 'Message',
    type: 'string',
    description: 'What happened, for people.',
    cell: ({ message }) => (message ?? '').trim(),
  },
  { name: 'First Seen', type: 'string', description: 'Time since it happened first.', priority: 1, cell: firstSeen },
  {
    name: 'Count',
    type: 'string',
    description: 'How often it happened.',
    priority: 1,
    cell: ({ series, count }) => String(series === undefined ? count || 1 : (series.count ?? 0)),
  },
];

/** Returns the selectable fields of an event. The name of its object reference differs between the groups. */
export function eventFields(
  { involvedObject, reason = '', type = '' }: Event,
  reference: string,
): Record<string, string> {
  const {
    kind = '',
    namespace = '',
    name = '',
    uid = '',
    apiVersion = '',
    resourceVersion = '',
    fieldPath = '',
  } = involvedObject;
  const fields: Record<string, string> = { reason, type };
  for (const [key, value] of Object.entries({ kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath }))
    fields[`${reference}.${key}`] = value;
  return fields;
}
