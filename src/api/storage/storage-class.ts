/** StorageClass of storage.k8s.io/v1. The fields follow k8s.io/api/storage/v1. */
import {
  array,
  atomic,
  boolean,
  field,
  filled,
  map,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { PersistentVolumeReclaimPolicySchema } from '../core/persistent-volume.ts';

const VolumeBindingModeSchema = oneOf('Immediate', 'WaitForFirstConsumer');
export type VolumeBindingMode = Infer<typeof VolumeBindingModeSchema>;

export const TopologySelectorLabelRequirementSchema = object('TopologySelectorLabelRequirement', {
  key: required(1, string),
  values: required(2, array(string)),
});
export type TopologySelectorLabelRequirement = Infer<typeof TopologySelectorLabelRequirementSchema>;

export const TopologySelectorTermSchema = atomic(
  object('TopologySelectorTerm', {
    matchLabelExpressions: field(1, array(TopologySelectorLabelRequirementSchema)),
  }),
);
export type TopologySelectorTerm = Infer<typeof TopologySelectorTermSchema>;

/** Cluster-scoped. */
export const StorageClassSchema = object('StorageClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  provisioner: required(2, string),
  parameters: field(3, map(string)),
  reclaimPolicy: pointer(4, PersistentVolumeReclaimPolicySchema),
  mountOptions: field(5, array(string)),
  allowVolumeExpansion: pointer(6, boolean),
  volumeBindingMode: pointer(7, VolumeBindingModeSchema),
  allowedTopologies: field(8, array(TopologySelectorTermSchema)),
});
export type StorageClass = Infer<typeof StorageClassSchema>;
