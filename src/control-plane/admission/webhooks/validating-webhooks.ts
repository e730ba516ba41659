import { namespaces } from '../../../api/client/resource-types.ts';
import { notFound } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { inVersion, matchedVersion } from '../equivalent-request.ts';
import type { Webhook } from './match-webhook.ts';
import { callWebhook } from './call-webhook.ts';
import type { CallOptions } from './call-webhook.ts';
import { isExempt, matchesNamespace, matchesObject, matchesRules, namespaceOf } from './match-webhook.ts';
import type { ConditionCheck } from './webhook-conditions.ts';
import { listWebhooks } from './webhook-list.ts';
import type { ListedWebhook } from './webhook-list.ts';

export interface WebhookOptions extends CallOptions {
  readonly reader: ObjectReader;
  readonly meetsConditions: ConditionCheck;
}

/** Calls all matching webhooks concurrently; the first refusal decides. Upstream: ValidatingAdmissionWebhook. */
export function createValidatingWebhooks(options: WebhookOptions): AdmissionPlugin {
  const list = listWebhooks(options.reader, 'validating');
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: (attributes) => matchesSomeRule(list(), attributes),
    async validate(attributes) {
      const concerned = list().flatMap(({ webhook }) => {
        const definition = versionFor(webhook, attributes, options.reader);
        return definition === undefined ? [] : [{ webhook, definition }];
      });
      const results = await Promise.allSettled(
        concerned.map(async ({ webhook, definition }, index) => {
          const shown = await inVersion(attributes, definition);
          if (!(await options.meetsConditions(webhook, shown))) return;
          const { outcome } = await callWebhook(webhook, 'validating', shown, options);
          if (outcome === 'open')
            attributes.context.annotate(
              `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`,
              webhook.name,
            );
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}

/** Whether any webhook may match the request. It runs for every write, so it must be cheap. */
export function matchesSomeRule(webhooks: readonly ListedWebhook[], attributes: AdmissionAttributes): boolean {
  return (
    webhooks.length > 0 &&
    !isExempt(attributes) &&
    webhooks.some(({ webhook }) => ruleVersion(webhook, attributes) !== undefined)
  );
}

const ruleVersion = (webhook: Webhook, attributes: AdmissionAttributes): ResourceDefinition | undefined =>
  matchedVersion(attributes, webhook.matchPolicy, (each) => matchesRules(webhook, each));

/**
 * Returns the version in which the webhook receives the request; undefined if it does not match. Throws NotFound if the
 * result depends on a missing namespace.
 */
export function versionFor(
  webhook: Webhook,
  attributes: AdmissionAttributes,
  reader: ObjectReader,
): ResourceDefinition | undefined {
  const definition = ruleVersion(webhook, attributes);
  if (definition === undefined || !matchesObject(webhook, attributes)) return undefined;
  const inNamespace = matchesNamespace(webhook, attributes, (name) => {
    const found = reader.get(namespaces, { namespace: '', name });
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  });
  if (inNamespace === 'unknown namespace') throw notFound(namespaces, namespaceOf(attributes));
  return inNamespace ? definition : undefined;
}
