/** CSIStorageCapacity of storage.k8s.io/v1. The fields follow k8s.io/api/storage/v1. */
import { field, filled, object, pointer, quantity, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';

export const CSIStorageCapacitySchema = object('CSIStorageCapacity', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  nodeTopology: field(2, LabelSelectorSchema),
  storageClassName: required(3, string),
  capacity: pointer(4, quantity),
  maximumVolumeSize: pointer(5, quantity),
});
export type CSIStorageCapacity = Infer<typeof CSIStorageCapacitySchema>;
