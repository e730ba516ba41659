import type { MutatingWebhookConfiguration } from '../admissionregistration/mutating-webhook-configuration.ts';
import type {
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../admissionregistration/validating-webhook-configuration.ts';
import type { RuleWithOperations, WebhookClientConfig } from '../admissionregistration/webhook.ts';

/** A copy with the defaults that the API server sets (upstream: admissionregistration/v1 defaults.go). */
export function defaultValidatingWebhooks(
  configuration: ValidatingWebhookConfiguration,
): ValidatingWebhookConfiguration {
  const { webhooks } = configuration;
  return webhooks === undefined ? configuration : { ...configuration, webhooks: webhooks.map(defaultWebhook) };
}

export function defaultMutatingWebhooks(configuration: MutatingWebhookConfiguration): MutatingWebhookConfiguration {
  const { webhooks } = configuration;
  if (webhooks === undefined) return configuration;
  return {
    ...configuration,
    webhooks: webhooks.map((webhook) => ({
      ...defaultWebhook(webhook),
      reinvocationPolicy: webhook.reinvocationPolicy ?? 'Never',
    })),
  };
}

function defaultWebhook<W extends ValidatingWebhook>(webhook: W): W {
  return {
    ...webhook,
    clientConfig: defaultClient(webhook.clientConfig),
    ...(webhook.rules !== undefined && { rules: webhook.rules.map(defaultRule) }),
    failurePolicy: webhook.failurePolicy ?? 'Fail',
    matchPolicy: webhook.matchPolicy ?? 'Equivalent',
    namespaceSelector: webhook.namespaceSelector ?? {},
    objectSelector: webhook.objectSelector ?? {},
    timeoutSeconds: webhook.timeoutSeconds ?? 10,
  };
}

function defaultRule(rule: RuleWithOperations): RuleWithOperations {
  return rule.scope === undefined ? { ...rule, scope: '*' } : rule;
}

function defaultClient(client: WebhookClientConfig): WebhookClientConfig {
  const { service } = client;
  return service === undefined || service.port !== undefined
    ? client
    : { ...client, service: { ...service, port: 443 } };
}
