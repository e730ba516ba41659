/** Requests, limits and claims. Quantities are kept as strings; see quantity.ts for their arithmetic. Which fields exist follows k8s.io/api/core/v1. */
import { array, map, object, quantity, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

/** Resource name to quantity. */
export const ResourceListSchema = map(quantity);
export type ResourceList = Infer<typeof ResourceListSchema>;

export const ResourceClaimSchema = object('ResourceClaim', {
  name: required(string),
  request: string,
});
export type ResourceClaim = Infer<typeof ResourceClaimSchema>;

export const ResourceRequirementsSchema = object('ResourceRequirements', {
  limits: ResourceListSchema,
  requests: ResourceListSchema,
  claims: array(ResourceClaimSchema, ['name'], { patch: 'replace' }),
});
export type ResourceRequirements = Infer<typeof ResourceRequirementsSchema>;

export const VolumeResourceRequirementsSchema = object('VolumeResourceRequirements', {
  limits: ResourceListSchema,
  requests: ResourceListSchema,
});
export type VolumeResourceRequirements = Infer<typeof VolumeResourceRequirementsSchema>;
