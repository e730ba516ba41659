/** Kinds of meta/v1 that every path can answer with but no resource is made of. */
import { array, int32, object, string } from '../../api/schema/schema.ts';
import { ListMetaSchema } from '../../api/core/meta.ts';

const StatusCauseSchema = object('StatusCause', { reason: string, message: string, field: string });
const StatusDetailsSchema = object('StatusDetails', { name: string, group: string, kind: string, uid: string, causes: array(StatusCauseSchema), retryAfterSeconds: int32 });

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
