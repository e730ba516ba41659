/** Event of core/v1: what the agent tells people about an object. Which fields exist follows k8s.io/api/core/v1. */
import { array, int32, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const EventSourceSchema = object('EventSource', {
  component: string,
  host: string,
});
export type EventSource = Infer<typeof EventSourceSchema>;

export const EventSeriesSchema = object('EventSeries', {
  count: int32,
  lastObservedTime: time,
});
export type EventSeries = Infer<typeof EventSeriesSchema>;

export const EventSchema = object('Event', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  involvedObject: required(ObjectReferenceSchema),
  reason: string,
  message: string,
  source: EventSourceSchema,
  firstTimestamp: time,
  lastTimestamp: time,
  count: int32,
  type: string,
  eventTime: time,
  series: EventSeriesSchema,
  action: string,
  related: ObjectReferenceSchema,
  reportingComponent: required(string),
  reportingInstance: required(string),
});
export type Event = Infer<typeof EventSchema>;

export const EventListSchema = object('EventList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(EventSchema)),
});
export type EventList = Infer<typeof EventListSchema>;
