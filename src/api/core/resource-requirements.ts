/**
 * Requests, limits and claims. Quantities are kept as strings; see quantity.ts for their arithmetic. The fields follow
 * k8s.io/api/core/v1.
 */
import { array, field, map, object, quantity, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

/** Quantities by resource name. */
export const ResourceListSchema = map(quantity);
export type ResourceList = Infer<typeof ResourceListSchema>;

export const ResourceClaimSchema = object('ResourceClaim', {
  name: required(1, string),
  request: field(2, string),
});
export type ResourceClaim = Infer<typeof ResourceClaimSchema>;

export const ResourceRequirementsSchema = object('ResourceRequirements', {
  limits: field(1, ResourceListSchema),
  requests: field(2, ResourceListSchema),
  claims: field(3, array(ResourceClaimSchema, ['name'], { patch: 'replace' })),
});
export type ResourceRequirements = Infer<typeof ResourceRequirementsSchema>;

export const VolumeResourceRequirementsSchema = object('VolumeResourceRequirements', {
  limits: field(1, ResourceListSchema),
  requests: field(2, ResourceListSchema),
});
export type VolumeResourceRequirements = Infer<typeof VolumeResourceRequirementsSchema>;
