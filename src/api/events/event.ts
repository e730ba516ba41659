/** Event of events.k8s.io/v1: another view of the stored core/v1 Event. The fields follow k8s.io/api/events/v1. */
import { field, filled, int32, microTime, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { EventSourceSchema } from '../core/event.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from '../core/meta.ts';

export const EventSeriesSchema = object('EventSeries', {
  count: required(1, int32),
  lastObservedTime: field(2, microTime, { mustBeWritten: true }),
});
export type EventSeries = Infer<typeof EventSeriesSchema>;

export const EventSchema = object('Event', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  eventTime: field(2, microTime, { mustBeWritten: true }),
  series: field(3, EventSeriesSchema),
  reportingController: field(4, string),
  reportingInstance: field(5, string),
  action: field(6, string),
  reason: field(7, string),
  regarding: field(8, ObjectReferenceSchema),
  related: field(9, ObjectReferenceSchema),
  note: field(10, string),
  type: field(11, string),
  deprecatedSource: field(12, EventSourceSchema),
  deprecatedFirstTimestamp: field(13, time),
  deprecatedLastTimestamp: field(14, time),
  deprecatedCount: field(15, int32),
});
export type Event = Infer<typeof EventSchema>;
