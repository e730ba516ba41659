/** CustomResourceDefinition of apiextensions.k8s.io/v1. The fields follow k8s.io/apiextensions-apiserver. */
import { WebhookClientConfigSchema } from '../admissionregistration/webhook.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import {
  array,
  boolean,
  field,
  filled,
  int32,
  knownValues,
  object,
  pointer,
  required,
  smallInt64,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { jsonSchemaProps } from './json-schema-props.ts';

export const CustomResourceDefinitionNamesSchema = object('CustomResourceDefinitionNames', {
  plural: required(1, string),
  singular: field(2, string),
  shortNames: field(3, array(string)),
  kind: required(4, string),
  listKind: field(5, string),
  categories: field(6, array(string)),
});
export type CustomResourceDefinitionNames = Infer<typeof CustomResourceDefinitionNamesSchema>;

export const CustomResourceValidationSchema = object('CustomResourceValidation', {
  /** JSONSchemaProps, which `readJsonSchema` reads. */
  openAPIV3Schema: field(1, jsonSchemaProps),
});

export const CustomResourceSubresourceStatusSchema = object('CustomResourceSubresourceStatus', {});

export const CustomResourceSubresourceScaleSchema = object('CustomResourceSubresourceScale', {
  specReplicasPath: required(1, string),
  statusReplicasPath: required(2, string),
  labelSelectorPath: pointer(3, string),
});
export type CustomResourceSubresourceScale = Infer<typeof CustomResourceSubresourceScaleSchema>;

export const CustomResourceSubresourcesSchema = object('CustomResourceSubresources', {
  status: field(1, CustomResourceSubresourceStatusSchema),
  scale: field(2, CustomResourceSubresourceScaleSchema),
});
export type CustomResourceSubresources = Infer<typeof CustomResourceSubresourcesSchema>;

export const CustomResourceColumnDefinitionSchema = object('CustomResourceColumnDefinition', {
  name: required(1, string),
  type: required(2, string),
  format: field(3, string),
  description: field(4, string),
  priority: field(5, int32),
  jsonPath: required(6, string),
});
export type CustomResourceColumnDefinition = Infer<typeof CustomResourceColumnDefinitionSchema>;

export const SelectableFieldSchema = object('SelectableField', { jsonPath: required(1, string) });
export type SelectableField = Infer<typeof SelectableFieldSchema>;

export const CustomResourceDefinitionVersionSchema = object('CustomResourceDefinitionVersion', {
  name: required(1, string),
  served: required(2, boolean),
  storage: required(3, boolean),
  deprecated: field(7, boolean),
  deprecationWarning: pointer(8, string),
  schema: field(4, CustomResourceValidationSchema),
  subresources: field(5, CustomResourceSubresourcesSchema),
  additionalPrinterColumns: field(6, array(CustomResourceColumnDefinitionSchema)),
  selectableFields: field(9, array(SelectableFieldSchema)),
});
export type CustomResourceDefinitionVersion = Infer<typeof CustomResourceDefinitionVersionSchema>;

export const WebhookConversionSchema = object('WebhookConversion', {
  clientConfig: field(2, WebhookClientConfigSchema),
  conversionReviewVersions: required(3, array(string)),
});
export type WebhookConversion = Infer<typeof WebhookConversionSchema>;

export const CustomResourceConversionSchema = object('CustomResourceConversion', {
  strategy: required(1, string),
  webhook: field(2, WebhookConversionSchema),
});
export type CustomResourceConversion = Infer<typeof CustomResourceConversionSchema>;

export const CustomResourceDefinitionSpecSchema = object('CustomResourceDefinitionSpec', {
  group: required(1, string),
  names: required(3, CustomResourceDefinitionNamesSchema),
  scope: required(4, knownValues('Cluster', 'Namespaced')),
  versions: required(7, array(CustomResourceDefinitionVersionSchema)),
  conversion: field(9, CustomResourceConversionSchema),
  preserveUnknownFields: field(10, boolean),
});
export type CustomResourceDefinitionSpec = Infer<typeof CustomResourceDefinitionSpecSchema>;

export const CustomResourceDefinitionConditionSchema = object('CustomResourceDefinitionCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
  observedGeneration: field(6, smallInt64),
});
export type CustomResourceDefinitionCondition = Infer<typeof CustomResourceDefinitionConditionSchema>;

export const CustomResourceDefinitionStatusSchema = object('CustomResourceDefinitionStatus', {
  conditions: filled(1, array(CustomResourceDefinitionConditionSchema, ['type'])),
  acceptedNames: filled(2, CustomResourceDefinitionNamesSchema),
  storedVersions: filled(3, array(string)),
  observedGeneration: field(4, smallInt64),
});
export type CustomResourceDefinitionStatus = Infer<typeof CustomResourceDefinitionStatusSchema>;

export const CustomResourceDefinitionSchema = object('CustomResourceDefinition', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, CustomResourceDefinitionSpecSchema),
  status: field(3, CustomResourceDefinitionStatusSchema),
});
export type CustomResourceDefinition = Infer<typeof CustomResourceDefinitionSchema>;

export type CrdConditionType =
  | 'Established'
  | 'NamesAccepted'
  | 'NonStructuralSchema'
  | 'StorageMigrating'
  | 'Terminating'
  | 'KubernetesAPIApprovalPolicyConformant';

/** Before the definition is removed, the controller deletes all objects of the kind. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export function findCrdCondition(
  { status }: CustomResourceDefinition,
  type: CrdConditionType,
): CustomResourceDefinitionCondition | undefined {
  return status?.conditions.find((each) => each.type === type);
}

export function isCrdConditionTrue(definition: CustomResourceDefinition, type: CrdConditionType): boolean {
  return findCrdCondition(definition, type)?.status === 'True';
}

export const storageVersionOf = ({ spec }: CustomResourceDefinition): string =>
  spec.versions.find(({ storage }) => storage)?.name ?? '';
