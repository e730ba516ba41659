/** CSIDriver of storage.k8s.io/v1. The fields follow k8s.io/api/storage/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int64,
  smallInt64,
  knownValues,
  object,
  oneOf,
  pointer,
  required,
  set,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

const FsGroupPolicySchema = knownValues('ReadWriteOnceWithFSType', 'File', 'None');
export type FsGroupPolicy = Infer<typeof FsGroupPolicySchema>;

const VolumeLifecycleModeSchema = oneOf('Persistent', 'Ephemeral');
export type VolumeLifecycleMode = Infer<typeof VolumeLifecycleModeSchema>;

export const TokenRequestSchema = object('TokenRequest', {
  audience: required(1, string),
  expirationSeconds: pointer(2, smallInt64),
});
export type TokenRequest = Infer<typeof TokenRequestSchema>;

export const CSIDriverSpecSchema = object('CSIDriverSpec', {
  attachRequired: pointer(1, boolean),
  podInfoOnMount: pointer(2, boolean),
  volumeLifecycleModes: field(3, set(VolumeLifecycleModeSchema)),
  storageCapacity: pointer(4, boolean),
  fsGroupPolicy: pointer(5, FsGroupPolicySchema),
  tokenRequests: field(6, array(TokenRequestSchema)),
  requiresRepublish: pointer(7, boolean),
  seLinuxMount: pointer(8, boolean),
  nodeAllocatableUpdatePeriodSeconds: pointer(9, int64),
  serviceAccountTokenInSecrets: pointer(10, boolean),
  preventPodSchedulingIfMissing: pointer(11, boolean),
});
export type CSIDriverSpec = Infer<typeof CSIDriverSpecSchema>;

/** Cluster-scoped; it has the driver's name. */
export const CSIDriverSchema = object('CSIDriver', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, CSIDriverSpecSchema),
});
export type CSIDriver = Infer<typeof CSIDriverSchema>;
