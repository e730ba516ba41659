import { Buffer } from 'node:buffer';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { internalError } from '../../../api/status/api-status-error.ts';
import { parseExactJson } from '../../../base/exact-json.ts';
import { errorMessage } from '../../../base/errors.ts';
import { withWholeCharacters } from '../../../base/whole-characters.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import { wireForm } from './admission-review.ts';
import type { ReviewResponse } from './admission-review.ts';
import { callWebhook, failed } from './call-webhook.ts';
import { inVersion, objectInVersion } from '../equivalent-request.ts';
import { matchesSomeRule, versionFor } from './validating-webhooks.ts';
import type { WebhookOptions } from './validating-webhooks.ts';
import type { Webhook } from './match-webhook.ts';
import { listWebhooks } from './webhook-list.ts';
import type { ListedWebhook } from './webhook-list.ts';

export interface MutatingWebhookOptions extends WebhookOptions {
  /**
   * Applies a JSON patch to the object as clients see it, then decodes and defaults the result. Throws if the patch is
   * invalid or does not apply.
   */
  readonly patched: (
    attributes: AdmissionAttributes,
    document: Readonly<Record<string, unknown>>,
    patch: unknown,
  ) => ApiObject;
  readonly sameJson: (left: ApiObject, right: ApiObject) => boolean;
  /** The mutating plugins that ran before. They run again after webhooks have changed the object. */
  readonly before: readonly AdmissionPlugin[];
}

/**
 * Calls mutating webhooks one after another. If one changes the object, the plugins before this one run again, and then
 * once the webhooks with `reinvocationPolicy: IfNeeded` that were called before the change. Upstream:
 * MutatingAdmissionWebhook.
 */
export function createMutatingWebhooks(options: MutatingWebhookOptions): AdmissionPlugin {
  const list = listWebhooks(options.reader, 'mutating');
  return {
    name: 'MutatingAdmissionWebhook',
    handles: (attributes) => matchesSomeRule(list(), attributes),
    async mutate(attributes) {
      const first = await round(options, attributes, { number: 0, webhooks: list(), again: undefined });
      if (!first.changed) return first.object as ApiObject;
      const object = await askAgain(options.before, { ...attributes, object: first.object });
      // A change by a plugin affects all plugins before it.
      const again =
        object === first.object || options.sameJson(object, first.object as ApiObject)
          ? first.toAskAgain
          : new Set([...first.toAskAgain, ...first.willing]);
      if (again.size === 0) return object;
      const second = await round(options, { ...attributes, object }, { number: 1, webhooks: list(), again });
      return second.object as ApiObject;
    },
  };
}

interface Round {
  readonly number: 0 | 1;
  readonly webhooks: readonly ListedWebhook[];
  /** The only webhooks to call, by id; undefined for all. */
  readonly again: ReadonlySet<string> | undefined;
}

interface RoundResult {
  readonly object: ApiObject | undefined;
  readonly changed: boolean;
  readonly toAskAgain: ReadonlySet<string>;
  /** The called webhooks that have the policy IfNeeded and have seen all changes so far. */
  readonly willing: ReadonlySet<string>;
}

async function round(
  options: MutatingWebhookOptions,
  attributes: AdmissionAttributes,
  { number, webhooks, again }: Round,
): Promise<RoundResult> {
  let [{ object }, changed] = [attributes, false];
  const toAskAgain = new Set<string>();
  const willing = new Set<string>();
  for (const [index, listed] of webhooks.entries()) {
    const { webhook, configuration, id } = listed;
    if (again !== undefined && !again.has(id)) continue;
    const definition = versionFor(webhook, { ...attributes, object }, options.reader);
    if (definition === undefined) continue;
    const now = await inVersion({ ...attributes, object }, definition);
    if (!(await options.meetsConditions(webhook, now))) continue;
    const result = await callWebhook(webhook, 'mutating', now, options);
    const place = `round_${number}_index_${index}`;
    const answered = result.outcome === 'open' ? now.object : applied(options, webhook, now, result.response);
    const isSame = answered === now.object || answered === undefined;
    const next = isSame ? object : await objectInVersion(answered, definition, attributes.definition);
    const differs = next !== object && object !== undefined && next !== undefined && !options.sameJson(next, object);
    if (result.outcome === 'open')
      attributes.context.annotate(`failed-open.mutation.webhook.admission.k8s.io/${place}`, webhook.name);
    attributes.context.annotate(
      `mutation.webhook.admission.k8s.io/${place}`,
      JSON.stringify({ configuration, webhook: webhook.name, mutated: differs }),
    );
    if (differs) {
      object = next;
      changed = true;
      for (const each of willing) toAskAgain.add(each);
      willing.clear();
    }
    if (webhook.reinvocationPolicy === 'IfNeeded') willing.add(id);
  }
  return { object, changed, toAskAgain, willing };
}

function applied(
  options: MutatingWebhookOptions,
  webhook: Webhook,
  attributes: AdmissionAttributes,
  { patch: encoded = '', patchType }: ReviewResponse,
): ApiObject | undefined {
  const { object, definition } = attributes;
  if (encoded === '') return object;
  let patch: unknown;
  try {
    patch = parseExactJson(withWholeCharacters(Buffer.from(encoded, 'base64').toString()));
  } catch (error) {
    failed(webhook, `received undecodable patch in webhook response: ${errorMessage(error)}`, options.log);
    return object;
  }
  if (Array.isArray(patch) && patch.length === 0) return object;
  if (object === undefined)
    throw internalError(
      `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  if (patchType !== 'JSONPatch') {
    failed(webhook, `unsupported patch type ${JSON.stringify(patchType)}`, options.log);
    return object;
  }
  try {
    return options.patched(attributes, wireForm(object, definition.type), patch);
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown };
    throw internalError(cause instanceof Error ? cause.message : errorMessage(error));
  }
}

async function askAgain(plugins: readonly AdmissionPlugin[], attributes: AdmissionAttributes): Promise<ApiObject> {
  let { object } = attributes;
  for (const plugin of plugins) {
    const now = { ...attributes, object };
    if (plugin.mutate !== undefined && plugin.handles(now)) object = await plugin.mutate(now);
  }
  // Webhooks can change only requests with an object.
  return object as ApiObject;
}
