/** ServiceCIDR of networking.k8s.io/v1. The fields follow k8s.io/api/networking/v1. */
import { array, field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ServiceCIDRSpecSchema = object('ServiceCIDRSpec', {
  cidrs: field(1, array(string)),
});
export type ServiceCIDRSpec = Infer<typeof ServiceCIDRSpecSchema>;

export const ServiceCIDRStatusSchema = object('ServiceCIDRStatus', {
  conditions: field(1, array(ConditionSchema, ['type'])),
});
export type ServiceCIDRStatus = Infer<typeof ServiceCIDRStatusSchema>;

export const ServiceCIDRSchema = object('ServiceCIDR', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ServiceCIDRSpecSchema),
  status: field(3, ServiceCIDRStatusSchema),
});
export type ServiceCIDR = Infer<typeof ServiceCIDRSchema>;

/** The range from the flags of the API server. */
export const DEFAULT_SERVICE_CIDR_NAME = 'kubernetes';
/** Keeps a range while a service has an address from it that is in no other range. */
export const SERVICE_CIDR_FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
