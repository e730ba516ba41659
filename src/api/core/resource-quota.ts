/** ResourceQuota of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, atomic, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';

export const ResourceQuotaScopeSchema = oneOf(
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
  scopeName: required(ResourceQuotaScopeSchema),
  operator: required(oneOf('In', 'NotIn', 'Exists', 'DoesNotExist')),
  values: array(string),
});
export type ScopedResourceSelectorRequirement = Infer<typeof ScopedResourceSelectorRequirementSchema>;

export const ScopeSelectorSchema = atomic(
  object('ScopeSelector', {
    matchExpressions: array(ScopedResourceSelectorRequirementSchema),
  }),
);
export type ScopeSelector = Infer<typeof ScopeSelectorSchema>;

export const ResourceQuotaSpecSchema = object('ResourceQuotaSpec', {
  hard: ResourceListSchema,
  scopes: array(ResourceQuotaScopeSchema),
  scopeSelector: ScopeSelectorSchema,
});
export type ResourceQuotaSpec = Infer<typeof ResourceQuotaSpecSchema>;

export const ResourceQuotaStatusSchema = object('ResourceQuotaStatus', {
  hard: ResourceListSchema,
  used: ResourceListSchema,
});
export type ResourceQuotaStatus = Infer<typeof ResourceQuotaStatusSchema>;

export const ResourceQuotaSchema = object('ResourceQuota', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(ResourceQuotaSpecSchema),
  status: ResourceQuotaStatusSchema,
});
export type ResourceQuota = Infer<typeof ResourceQuotaSchema>;

export const ResourceQuotaListSchema = object('ResourceQuotaList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ResourceQuotaSchema)),
});
export type ResourceQuotaList = Infer<typeof ResourceQuotaListSchema>;
