/** VolumeAttributesClass of storage.k8s.io/v1. The fields follow k8s.io/api/storage/v1. */
import { field, filled, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

/** Cluster-scoped. */
export const VolumeAttributesClassSchema = object('VolumeAttributesClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  driverName: required(2, string),
  parameters: field(3, map(string)),
});
export type VolumeAttributesClass = Infer<typeof VolumeAttributesClassSchema>;
