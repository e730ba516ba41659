/**
 * What both webhook configurations of admissionregistration.k8s.io/v1 share. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import { array, bytes, field, inline, int32, object, oneOf, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema } from '../core/meta.ts';

const WebhookOperationSchema = oneOf('*', 'CREATE', 'UPDATE', 'DELETE', 'CONNECT');
export type WebhookOperation = Infer<typeof WebhookOperationSchema>;

const WebhookScopeSchema = oneOf('*', 'Cluster', 'Namespaced');
export type WebhookScope = Infer<typeof WebhookScopeSchema>;

const FailurePolicySchema = oneOf('Ignore', 'Fail');
export type FailurePolicy = Infer<typeof FailurePolicySchema>;

const MatchPolicySchema = oneOf('Exact', 'Equivalent');
export type MatchPolicy = Infer<typeof MatchPolicySchema>;

const SideEffectsSchema = oneOf('Unknown', 'None', 'Some', 'NoneOnDryRun');
export type SideEffects = Infer<typeof SideEffectsSchema>;

export const WebhookServiceReferenceSchema = object('ServiceReference', {
  namespace: required(1, string),
  name: required(2, string),
  path: pointer(3, string),
  port: pointer(4, int32),
});
export type WebhookServiceReference = Infer<typeof WebhookServiceReferenceSchema>;

/** Exactly one of `url` and `service`. */
export const WebhookClientConfigSchema = object('WebhookClientConfig', {
  url: pointer(3, string),
  service: field(1, WebhookServiceReferenceSchema),
  /** Certificates in PEM, in base64. */
  caBundle: field(2, bytes),
});
export type WebhookClientConfig = Infer<typeof WebhookClientConfigSchema>;

export const RuleWithOperationsSchema = object('RuleWithOperations', {
  operations: field(1, array(WebhookOperationSchema)),
  ...inline(2, {
    apiGroups: field(1, array(string)),
    apiVersions: field(2, array(string)),
    /** For example `pods` or `pods/log`; `*` means any resource, any subresource, or both. */
    resources: field(3, array(string)),
    scope: pointer(4, WebhookScopeSchema),
  }),
});
export type RuleWithOperations = Infer<typeof RuleWithOperationsSchema>;

export const MatchConditionSchema = object('MatchCondition', {
  name: required(1, string),
  expression: required(2, string),
});
export type MatchCondition = Infer<typeof MatchConditionSchema>;

/** The fields that webhooks of both configurations have. Some have different protobuf numbers in the two. */
export const webhookFields = (numbers: { readonly objectSelector: number; readonly matchConditions: number }) =>
  ({
    name: required(1, string),
    clientConfig: required(2, WebhookClientConfigSchema),
    rules: field(3, array(RuleWithOperationsSchema)),
    failurePolicy: pointer(4, FailurePolicySchema),
    matchPolicy: pointer(9, MatchPolicySchema),
    namespaceSelector: field(5, LabelSelectorSchema),
    objectSelector: field(numbers.objectSelector, LabelSelectorSchema),
    /** Validation rejects an object without it. */
    sideEffects: pointer(6, SideEffectsSchema, { mustBeWritten: true }),
    timeoutSeconds: pointer(7, int32),
    admissionReviewVersions: required(8, array(string)),
    matchConditions: field(numbers.matchConditions, array(MatchConditionSchema, ['name'])),
  }) as const;
