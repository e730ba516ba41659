/** CSIDriver of storage.k8s.io/v1. Which fields exist follows k8s.io/api/storage/v1. */
import { array, boolean, int64, object, oneOf, required, set, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';

export const FsGroupPolicySchema = oneOf('ReadWriteOnceWithFSType', 'File', 'None');
export type FsGroupPolicy = Infer<typeof FsGroupPolicySchema>;

export const VolumeLifecycleModeSchema = oneOf('Persistent', 'Ephemeral');
export type VolumeLifecycleMode = Infer<typeof VolumeLifecycleModeSchema>;

export const TokenRequestSchema = object('TokenRequest', {
  audience: required(string),
  expirationSeconds: int64,
});
export type TokenRequest = Infer<typeof TokenRequestSchema>;

export const CSIDriverSpecSchema = object('CSIDriverSpec', {
  attachRequired: boolean,
  podInfoOnMount: boolean,
  volumeLifecycleModes: set(VolumeLifecycleModeSchema),
  storageCapacity: boolean,
  fsGroupPolicy: FsGroupPolicySchema,
  tokenRequests: array(TokenRequestSchema),
  requiresRepublish: boolean,
  seLinuxMount: boolean,
  nodeAllocatableUpdatePeriodSeconds: int64,
  serviceAccountTokenInSecrets: boolean,
  preventPodSchedulingIfMissing: boolean,
});
export type CSIDriverSpec = Infer<typeof CSIDriverSpecSchema>;

/** Not in any namespace; its name is the driver's. */
export const CSIDriverSchema = object('CSIDriver', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(CSIDriverSpecSchema),
});
export type CSIDriver = Infer<typeof CSIDriverSchema>;

export const CSIDriverListSchema = object('CSIDriverList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(CSIDriverSchema)),
});
export type CSIDriverList = Infer<typeof CSIDriverListSchema>;
