/** Lease of coordination.k8s.io/v1. Which fields exist follows k8s.io/api/coordination/v1. */
import { array, int32, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';

export const LeaseSpecSchema = object('LeaseSpec', {
  holderIdentity: string,
  leaseDurationSeconds: int32,
  acquireTime: time,
  renewTime: time,
  leaseTransitions: int32,
  strategy: string,
  preferredHolder: string,
});
export type LeaseSpec = Infer<typeof LeaseSpecSchema>;

export const LeaseSchema = object('Lease', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(LeaseSpecSchema),
});
export type Lease = Infer<typeof LeaseSchema>;

export const LeaseListSchema = object('LeaseList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(LeaseSchema)),
});
export type LeaseList = Infer<typeof LeaseListSchema>;
