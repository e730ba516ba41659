/** meta/v1 Status: the answer of the API when there is no object to return, mainly for errors. */
import { array, field, int32, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema } from '../core/meta.ts';

export const StatusCauseSchema = object('StatusCause', {
  reason: field(1, string),
  message: field(2, string),
  field: field(3, string),
});
export type StatusCause = Infer<typeof StatusCauseSchema>;

export const StatusDetailsSchema = object('StatusDetails', {
  name: field(1, string),
  group: field(2, string),
  kind: field(3, string),
  uid: field(6, string),
  causes: field(4, array(StatusCauseSchema)),
  retryAfterSeconds: field(5, int32),
});
export type StatusDetails = Infer<typeof StatusDetailsSchema>;

export const StatusSchema = object('Status', {
  kind: string,
  apiVersion: string,
  metadata: field(1, ListMetaSchema),
  status: field(2, string),
  message: field(3, string),
  reason: field(4, string),
  details: field(5, StatusDetailsSchema),
  code: field(6, int32),
});
export type Status = Infer<typeof StatusSchema>;
