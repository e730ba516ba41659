/**
 * ControllerRevision of apps/v1: an immutable snapshot of what a controller rolled out. The fields follow
 * k8s.io/api/apps/v1.
 */
import { field, filled, int64, object, rawExtension, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ControllerRevisionSchema = object('ControllerRevision', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  data: field(2, rawExtension),
  revision: required(3, int64),
});
export type ControllerRevision = Infer<typeof ControllerRevisionSchema>;
