import { namespaces } from '../../../api/client/resource-types.ts';
import { notFound } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
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

/**
 * Asks all webhooks that are about the request at once; the first refusal counts. Upstream: ValidatingAdmissionWebhook.
 */
export function createValidatingWebhooks(options: WebhookOptions): AdmissionPlugin {
  const list = listWebhooks(options.reader, 'validating');
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: (attributes) => isAnyonesBusiness(list(), attributes),
    async validate(attributes) {
      const concerned = list().filter((each) => concerns(each, attributes, options.reader));
      const results = await Promise.allSettled(
        concerned.map(async ({ webhook }, index) => {
          if (!(await options.meetsConditions(webhook, attributes))) return;
          const { outcome } = await callWebhook(webhook, 'validating', attributes, options);
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

/** Cheap, as it is asked about every write. */
export function isAnyonesBusiness(webhooks: readonly ListedWebhook[], attributes: AdmissionAttributes): boolean {
  return (
    webhooks.length > 0 && !isExempt(attributes) && webhooks.some(({ webhook }) => matchesRules(webhook, attributes))
  );
}

/** Throws NotFound when that depends on a namespace that is not there. */
export function concerns({ webhook }: ListedWebhook, attributes: AdmissionAttributes, reader: ObjectReader): boolean {
  if (!matchesRules(webhook, attributes) || !matchesObject(webhook, attributes)) return false;
  const inNamespace = matchesNamespace(webhook, attributes, (name) => {
    const found = reader.get(namespaces, { namespace: '', name });
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  });
  if (inNamespace === 'unknown namespace') throw notFound(namespaces, namespaceOf(attributes));
  return inNamespace;
}
