/** What both webhook configurations of admissionregistration.k8s.io/v1 share. Which fields exist follows k8s.io/api/admissionregistration/v1. */
import { array, bytes, int32, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema } from '../core/meta.ts';

export const WebhookOperationSchema = oneOf('*', 'CREATE', 'UPDATE', 'DELETE', 'CONNECT');
export type WebhookOperation = Infer<typeof WebhookOperationSchema>;

export const WebhookScopeSchema = oneOf('*', 'Cluster', 'Namespaced');
export type WebhookScope = Infer<typeof WebhookScopeSchema>;

export const FailurePolicySchema = oneOf('Ignore', 'Fail');
export type FailurePolicy = Infer<typeof FailurePolicySchema>;

export const MatchPolicySchema = oneOf('Exact', 'Equivalent');
export type MatchPolicy = Infer<typeof MatchPolicySchema>;

export const SideEffectsSchema = oneOf('Unknown', 'None', 'Some', 'NoneOnDryRun');
export type SideEffects = Infer<typeof SideEffectsSchema>;

export const WebhookServiceReferenceSchema = object('ServiceReference', {
  namespace: required(string),
  name: required(string),
  path: string,
  port: int32,
});
export type WebhookServiceReference = Infer<typeof WebhookServiceReferenceSchema>;

/** Exactly one of `url` and `service`. */
export const WebhookClientConfigSchema = object('WebhookClientConfig', {
  url: string,
  service: WebhookServiceReferenceSchema,
  /** Certificates in PEM, in base64. */
  caBundle: bytes,
});
export type WebhookClientConfig = Infer<typeof WebhookClientConfigSchema>;

export const RuleWithOperationsSchema = object('RuleWithOperations', {
  operations: array(WebhookOperationSchema),
  apiGroups: array(string),
  apiVersions: array(string),
  /** `pods`, `pods/log`; a star stands for any resource, any subresource, or both. */
  resources: array(string),
  scope: WebhookScopeSchema,
});
export type RuleWithOperations = Infer<typeof RuleWithOperationsSchema>;

export const MatchConditionSchema = object('MatchCondition', {
  name: required(string),
  expression: required(string),
});
export type MatchCondition = Infer<typeof MatchConditionSchema>;

/** The fields of a webhook of either configuration. */
export const webhookFields = {
  name: required(string),
  clientConfig: required(WebhookClientConfigSchema),
  rules: array(RuleWithOperationsSchema),
  failurePolicy: FailurePolicySchema,
  matchPolicy: MatchPolicySchema,
  namespaceSelector: LabelSelectorSchema,
  objectSelector: LabelSelectorSchema,
  /** Absent is refused by validation. */
  sideEffects: SideEffectsSchema,
  timeoutSeconds: int32,
  admissionReviewVersions: required(array(string)),
  matchConditions: array(MatchConditionSchema, ['name']),
} as const;
