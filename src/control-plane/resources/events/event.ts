import { events, eventsV1Events } from '../../../api/client/resource-types.ts';
import type { Event } from '../../../api/core/event.ts';
import type { Event as EventsV1Event } from '../../../api/events/event.ts';
import { EventSchema as EventsV1EventSchema } from '../../../api/events/event.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateEvent, validateEventUpdate } from '../../../api/validation/validate-event.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { eventColumns, eventFields, EVENT_TTL_SECONDS } from '../core/event-columns.ts';
import { defineResource } from '../define-resource.ts';
import { wideNameColumn } from '../print-cells.ts';
import { eventFromStored, eventToStored } from './event-forms.ts';

export const eventsV1EventResource = defineResource<EventsV1Event>({
  type: eventsV1Events,
  singular: 'event',
  shortNames: ['ev'],
  schema: EventsV1EventSchema,
  storagePath: 'events',
  ttlSeconds: EVENT_TTL_SECONDS,
  unhurried: true,
  storedAs: { stored: events, toStored: eventToStored, fromStored: (event) => eventFromStored(event as Event) },
  rules: {
    applyDefaults: (event) => event,
    validate: (event) => validateEvent(eventToStored(event), 'events'),
    validateName: checkDnsSubdomain,
    validateUpdate: (event, old) => validateEventUpdate(eventToStored(event), eventToStored(old), 'events'),
    allowCreateOnUpdate: true,
    anyFinalizer: true,
    defaultPropagation: 'Unsupported',
  },
  selectableFields: (event) => ({
    ...eventFields(eventToStored(event), 'regarding'),
    reportingController: event.reportingController ?? '',
  }),
  columns: [
    ...eventColumns.map(
      (column): TableColumn<EventsV1Event> => ({
        ...column,
        cell: (event, nowMs) => column.cell(eventToStored(event), nowMs),
      }),
    ),
    wideNameColumn,
  ],
});
