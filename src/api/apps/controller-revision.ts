/** ControllerRevision of apps/v1: an immutable snapshot of what a controller rolled out. Which fields exist follows k8s.io/api/apps/v1. */
import { array, int64, object, opaque, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';

export const ControllerRevisionSchema = object('ControllerRevision', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  data: opaque,
  revision: required(int64),
});
export type ControllerRevision = Infer<typeof ControllerRevisionSchema>;

export const ControllerRevisionListSchema = object('ControllerRevisionList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ControllerRevisionSchema)),
});
export type ControllerRevisionList = Infer<typeof ControllerRevisionListSchema>;
