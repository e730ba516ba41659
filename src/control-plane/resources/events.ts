import { events, eventsV1Events } from '../../api/client/resource-types.ts';
import type { Event } from '../../api/core/event.ts';
import { EventSchema } from '../../api/core/event.ts';
import type { Event as EventsV1Event } from '../../api/events/event.ts';
import { EventSchema as EventsV1EventSchema } from '../../api/events/event.ts';
import { checkDnsSubdomain, checkPathSegment } from '../../api/validation/names.ts';
import { validateEvent, validateEventUpdate } from '../../api/validation/validate-event.ts';
import type { ResourceDefinition, TableColumn } from '../model/resource-definition.ts';
import { formatAge, wideNameColumn } from './cells.ts';
import { defineResource } from './define-resource.ts';
import { eventFromStored, eventToStored } from './event-forms.ts';

/** Upstream's `--event-ttl`. */
const ttlSeconds = 3600;

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

const columns: readonly EventColumn[] = [
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

/** The object's fields under the name that the group has for the reference to it. */
function fieldsOf({ involvedObject, reason = '', type = '' }: Event, reference: string): Record<string, string> {
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

const eventDefinition: ResourceDefinition<Event> = {
  type: events,
  singular: 'event',
  shortNames: ['ev'],
  schema: EventSchema,
  storagePath: 'events',
  ttlSeconds,
  unhurried: true,
  rules: {
    applyDefaults: (event) => event,
    validate: (event) => validateEvent(event, 'core'),
    validateName: checkPathSegment,
    validateUpdate: (event, old) => validateEventUpdate(event, old, 'core'),
    allowCreateOnUpdate: true,
    anyFinalizer: true,
  },
  selectableFields: (event) => ({
    ...fieldsOf(event, 'involvedObject'),
    reportingComponent: event.reportingComponent,
    source: event.source?.component || event.reportingComponent,
  }),
  columns: [...columns, wideNameColumn],
};

const eventsV1Definition: ResourceDefinition<EventsV1Event> = {
  type: eventsV1Events,
  singular: 'event',
  shortNames: ['ev'],
  schema: EventsV1EventSchema,
  storagePath: 'events',
  ttlSeconds,
  unhurried: true,
  storedAs: { stored: events, toStored: eventToStored, fromStored: (event) => eventFromStored(event as Event) },
  rules: {
    applyDefaults: (event) => event,
    validate: (event) => validateEvent(eventToStored(event), 'events'),
    validateName: checkDnsSubdomain,
    validateUpdate: (event, old) => validateEventUpdate(eventToStored(event), eventToStored(old), 'events'),
    allowCreateOnUpdate: true,
    anyFinalizer: true,
  },
  selectableFields: (event) => ({
    ...fieldsOf(eventToStored(event), 'regarding'),
    reportingController: event.reportingController ?? '',
  }),
  columns: [
    ...columns.map(
      (column): TableColumn<EventsV1Event> => ({
        ...column,
        cell: (event, nowMs) => column.cell(eventToStored(event), nowMs),
      }),
    ),
    wideNameColumn,
  ],
};

/** Two groups over the same stored objects; those of the core group are what is stored. */
export const eventResources: readonly ResourceDefinition[] = [
  defineResource(eventDefinition),
  defineResource(eventsV1Definition),
];
