/** Event of events.k8s.io/v1: another view of the stored core/v1 Event. Which fields exist follows k8s.io/api/events/v1. */
import { array, int32, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { EventSourceSchema } from '../core/event.ts';
import { ListMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from '../core/meta.ts';

export const EventSeriesSchema = object('EventSeries', {
  count: required(int32),
  lastObservedTime: time,
});
export type EventSeries = Infer<typeof EventSeriesSchema>;

export const EventSchema = object('Event', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  eventTime: time,
  series: EventSeriesSchema,
  reportingController: string,
  reportingInstance: string,
  action: string,
  reason: string,
  regarding: ObjectReferenceSchema,
  related: ObjectReferenceSchema,
  note: string,
  type: string,
  deprecatedSource: EventSourceSchema,
  deprecatedFirstTimestamp: time,
  deprecatedLastTimestamp: time,
  deprecatedCount: int32,
});
export type Event = Infer<typeof EventSchema>;

export const EventListSchema = object('EventList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(EventSchema)),
});
export type EventList = Infer<typeof EventListSchema>;
