/** ResourceQuota of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, atomic, field, filled, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';

const ResourceQuotaScopeSchema = oneOf(
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
  'VolumeAttributesClass',
);
export type ResourceQuotaScope = Infer<typeof ResourceQuotaScopeSchema>;

export const ScopedResourceSelectorRequirementSchema = object('ScopedResourceSelectorRequirement', {
  scopeName: required(1, ResourceQuotaScopeSchema),
  operator: required(2, oneOf('In', 'NotIn', 'Exists', 'DoesNotExist')),
  values: field(3, array(string)),
});
export type ScopedResourceSelectorRequirement = Infer<typeof ScopedResourceSelectorRequirementSchema>;

export const ScopeSelectorSchema = atomic(
  object('ScopeSelector', {
    matchExpressions: field(1, array(ScopedResourceSelectorRequirementSchema)),
  }),
);
export type ScopeSelector = Infer<typeof ScopeSelectorSchema>;

export const ResourceQuotaSpecSchema = object('ResourceQuotaSpec', {
  hard: field(1, ResourceListSchema),
  scopes: field(2, array(ResourceQuotaScopeSchema)),
  scopeSelector: field(3, ScopeSelectorSchema),
});
export type ResourceQuotaSpec = Infer<typeof ResourceQuotaSpecSchema>;

export const ResourceQuotaStatusSchema = object('ResourceQuotaStatus', {
  hard: field(1, ResourceListSchema),
  used: field(2, ResourceListSchema),
});
export type ResourceQuotaStatus = Infer<typeof ResourceQuotaStatusSchema>;

export const ResourceQuotaSchema = object('ResourceQuota', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ResourceQuotaSpecSchema),
  status: field(3, ResourceQuotaStatusSchema),
});
export type ResourceQuota = Infer<typeof ResourceQuotaSchema>;
