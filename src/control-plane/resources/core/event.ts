import { events } from '../../../api/client/resource-types.ts';
import type { Event } from '../../../api/core/event.ts';
import { EventSchema } from '../../../api/core/event.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { validateEvent, validateEventUpdate } from '../../../api/validation/validate-event.ts';
import { defineResource } from '../define-resource.ts';
import { wideNameColumn } from '../print-cells.ts';
import { eventColumns, eventFields, EVENT_TTL_SECONDS } from './event-columns.ts';

export const eventResource = defineResource<Event>({
  type: events,
  singular: 'event',
  shortNames: ['ev'],
  schema: EventSchema,
  storagePath: 'events',
  ttlSeconds: EVENT_TTL_SECONDS,
  unhurried: true,
  rules: {
    applyDefaults: (event) => event,
    validate: (event) => validateEvent(event, 'core'),
    validateName: checkPathSegment,
    validateUpdate: (event, old) => validateEventUpdate(event, old, 'core'),
    allowCreateOnUpdate: true,
    anyFinalizer: true,
    defaultPropagation: 'Unsupported',
  },
  selectableFields: (event) => ({
    ...eventFields(event, 'involvedObject'),
    reportingComponent: event.reportingComponent,
    source: event.source?.component || event.reportingComponent,
  }),
  columns: [...eventColumns, wideNameColumn],
});
