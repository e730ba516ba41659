/** ConfigMap of core/v1. The fields follow k8s.io/api/core/v1. */
import { boolean, bytes, field, filled, map, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';

export const ConfigMapSchema = object('ConfigMap', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  immutable: pointer(4, boolean),
  data: field(2, map(string)),
  binaryData: field(3, map(bytes)),
});
export type ConfigMap = Infer<typeof ConfigMapSchema>;
