/** meta/v1 Status: what the API answers when there is no object to show, above all in every error. */
import { array, int32, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema } from '../core/meta.ts';

export const StatusCauseSchema = object('StatusCause', {
  reason: string,
  message: string,
  field: string,
});
export type StatusCause = Infer<typeof StatusCauseSchema>;

export const StatusDetailsSchema = object('StatusDetails', {
  name: string,
  group: string,
  kind: string,
  uid: string,
  causes: array(StatusCauseSchema),
  retryAfterSeconds: int32,
});
export type StatusDetails = Infer<typeof StatusDetailsSchema>;

export const StatusSchema = object('Status', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  status: string,
  message: string,
  reason: string,
  details: StatusDetailsSchema,
  code: int32,
});
export type Status = Infer<typeof StatusSchema>;
