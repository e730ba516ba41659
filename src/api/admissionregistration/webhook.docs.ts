import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  WebhookServiceReferenceSchema,
  WebhookClientConfigSchema,
  RuleWithOperationsSchema,
  MatchConditionSchema,
} from './webhook.ts';

/** Texts for webhooks of both configurations. */
export const webhookDocs = {
  name: 'The name of the webhook, such as check.example.com.',
  clientConfig: 'How to connect to the webhook.',
  rules: 'The requests for which the webhook is called.',
  failurePolicy:
    'What happens when the webhook cannot be called: Fail rejects the request, Ignore continues without the webhook. Default Fail.',
  matchPolicy: 'Exact, or Equivalent: requests for other versions of the resource match too. Default Equivalent.',
  namespaceSelector: 'Only objects in namespaces with these labels.',
  objectSelector: 'Only objects with these labels.',
  sideEffects: 'The side effects of calls. None or NoneOnDryRun; Unknown and Some are rejected.',
  timeoutSeconds: 'How long a call may take, 1 to 30 seconds. Default 10.',
  admissionReviewVersions: 'The versions of AdmissionReview that the webhook supports, in order of preference.',
  matchConditions: 'CEL expressions that must all be true for the webhook to be called.',
};

export const docs: readonly TypeDocs[] = [
  describe(WebhookServiceReferenceSchema, 'A service in the cluster.', {
    namespace: 'The namespace of the service.',
    name: 'The name of the service.',
    path: 'The path of the request.',
    port: 'The port of the service. Default 443.',
  }),
  describe(WebhookClientConfigSchema, 'How to connect to a webhook: url or service.', {
    url: 'The URL of the webhook.',
    service: 'The service of the webhook.',
    caBundle: 'The certificates of the CA that signed the serving certificate: PEM, in base64.',
  }),
  describe(RuleWithOperationsSchema, 'Selects requests by operation and resource.', {
    operations: 'The operations; * selects all.',
    apiGroups: 'The API groups; * selects all.',
    apiVersions: 'The versions; * selects all.',
    resources: 'The resources, such as pods, pods/log, pods/* or *.',
    scope: 'Cluster selects resources without a namespace, Namespaced those in one, * all. Default *.',
  }),
  describe(MatchConditionSchema, 'A condition on the request.', {
    name: 'The name of the condition.',
    expression: 'The condition, in CEL.',
  }),
];
