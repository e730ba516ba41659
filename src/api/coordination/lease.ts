/** Lease of coordination.k8s.io/v1. The fields follow k8s.io/api/coordination/v1. */
import { field, filled, int32, microTime, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const LeaseSpecSchema = object('LeaseSpec', {
  holderIdentity: pointer(1, string),
  leaseDurationSeconds: pointer(2, int32),
  acquireTime: field(3, microTime),
  renewTime: field(4, microTime),
  leaseTransitions: pointer(5, int32),
  strategy: pointer(6, string),
  preferredHolder: pointer(7, string),
});
export type LeaseSpec = Infer<typeof LeaseSpecSchema>;

export const LeaseSchema = object('Lease', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, LeaseSpecSchema),
});
export type Lease = Infer<typeof LeaseSchema>;
