/**
 * InitializerConfiguration of admissionregistration.k8s.io/v1alpha1, which upstream removed in 1.14. The fields follow
 * k8s.io/api/admissionregistration/v1alpha1 of 1.13.
 */
import { array, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const InitializerRuleSchema = object('Rule', {
  apiGroups: field(1, array(string)),
  apiVersions: field(2, array(string)),
  /** For example `pods`; `*` means all resources. Subresources have no initializers. */
  resources: field(3, array(string)),
});
export type InitializerRule = Infer<typeof InitializerRuleSchema>;

export const ConfiguredInitializerSchema = object('Initializer', {
  name: required(1, string),
  rules: field(2, array(InitializerRuleSchema)),
});
export type ConfiguredInitializer = Infer<typeof ConfiguredInitializerSchema>;

/** Cluster-scoped. */
export const InitializerConfigurationSchema = object('InitializerConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  initializers: field(2, array(ConfiguredInitializerSchema, ['name'])),
});
export type InitializerConfiguration = Infer<typeof InitializerConfigurationSchema>;
