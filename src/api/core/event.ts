/** Event of core/v1: a report about an object, for people. The fields follow k8s.io/api/core/v1. */
import { field, filled, int32, microTime, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const EventSourceSchema = object('EventSource', {
  component: field(1, string),
  host: field(2, string),
});
export type EventSource = Infer<typeof EventSourceSchema>;

export const EventSeriesSchema = object('EventSeries', {
  count: field(1, int32),
  lastObservedTime: field(2, microTime),
});
export type EventSeries = Infer<typeof EventSeriesSchema>;

export const EventSchema = object('Event', {
  kind: string,
  apiVersion: string,
  metadata: required(1, ObjectMetaSchema),
  involvedObject: required(2, ObjectReferenceSchema),
  reason: field(3, string),
  message: field(4, string),
  source: field(5, EventSourceSchema),
  firstTimestamp: field(6, time),
  lastTimestamp: field(7, time),
  count: field(8, int32),
  type: field(9, string),
  eventTime: field(10, microTime),
  series: field(11, EventSeriesSchema),
  action: field(12, string),
  related: field(13, ObjectReferenceSchema),
  reportingComponent: filled(14, string),
  reportingInstance: filled(15, string),
});
export type Event = Infer<typeof EventSchema>;
