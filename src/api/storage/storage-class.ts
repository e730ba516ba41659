/** StorageClass of storage.k8s.io/v1. Which fields exist follows k8s.io/api/storage/v1. */
import { array, atomic, boolean, map, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PersistentVolumeReclaimPolicySchema } from '../core/persistent-volume.ts';

export const VolumeBindingModeSchema = oneOf('Immediate', 'WaitForFirstConsumer');
export type VolumeBindingMode = Infer<typeof VolumeBindingModeSchema>;

export const TopologySelectorLabelRequirementSchema = object('TopologySelectorLabelRequirement', {
  key: required(string),
  values: required(array(string)),
});
export type TopologySelectorLabelRequirement = Infer<typeof TopologySelectorLabelRequirementSchema>;

export const TopologySelectorTermSchema = atomic(
  object('TopologySelectorTerm', {
    matchLabelExpressions: array(TopologySelectorLabelRequirementSchema),
  }),
);
export type TopologySelectorTerm = Infer<typeof TopologySelectorTermSchema>;

/** Not in any namespace. */
export const StorageClassSchema = object('StorageClass', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  provisioner: required(string),
  parameters: map(string),
  reclaimPolicy: PersistentVolumeReclaimPolicySchema,
  mountOptions: array(string),
  allowVolumeExpansion: boolean,
  volumeBindingMode: VolumeBindingModeSchema,
  allowedTopologies: array(TopologySelectorTermSchema),
});
export type StorageClass = Infer<typeof StorageClassSchema>;

export const StorageClassListSchema = object('StorageClassList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(StorageClassSchema)),
});
export type StorageClassList = Infer<typeof StorageClassListSchema>;
