/** Field numbers of admissionregistration, v1: see `field-numbers.ts` for how to read them. */
export const admissionregistrationNumbers = {
  MatchCondition: 'name:1 expression:2',
  MutatingWebhook: `
    name:1 clientConfig:2 rules:3 failurePolicy:4? matchPolicy:9? namespaceSelector:5? objectSelector:11? sideEffects:6? timeoutSeconds:7?
    admissionReviewVersions:8 reinvocationPolicy:10? matchConditions:12
  `,
  MutatingWebhookConfiguration: 'metadata:1 webhooks:2',
  Rule: 'apiGroups:1 apiVersions:2 resources:3 scope:4?',
  RuleWithOperations: 'operations:1 +Rule:2',
  ServiceReference: 'namespace:1 name:2 path:3? port:4?',
  ValidatingWebhook: `
    name:1 clientConfig:2 rules:3 failurePolicy:4? matchPolicy:9? namespaceSelector:5? objectSelector:10? sideEffects:6? timeoutSeconds:7?
    admissionReviewVersions:8 matchConditions:11
  `,
  ValidatingWebhookConfiguration: 'metadata:1 webhooks:2',
  WebhookClientConfig: 'url:3? service:1? caBundle:2',
} as const;
