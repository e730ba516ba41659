import { apiErrorFromStatus, ApiStatusError, badRequest, internalError } from '../../../api/status/api-status-error.ts';
import type { Status } from '../../../api/status/status.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { admissionReview, readReview } from './admission-review.ts';
import type { ReviewResponse } from './admission-review.ts';
import type { Webhook } from './match-webhook.ts';

/**
 * Sends a review to the webhook's endpoint with a timeout. Resolves to the parsed response, and rejects with the reason
 * if there is none.
 */
export type PostReview = (client: Webhook['clientConfig'], review: object, timeoutSeconds: number) => Promise<unknown>;

export interface CallOptions {
  readonly post: PostReview;
  readonly newUid: () => string;
  readonly log: Logger;
}

/** `open`: the webhook could not be called, and its failure policy is Ignore. */
export type CallResult =
  | { readonly outcome: 'answered'; readonly response: ReviewResponse }
  | { readonly outcome: 'open' };

/** Calls one webhook. Throws an `ApiStatusError` for a refusal, and for a failure with the policy Fail. */
export async function callWebhook(
  webhook: Webhook,
  kind: 'mutating' | 'validating',
  attributes: AdmissionAttributes,
  { post, newUid, log }: CallOptions,
): Promise<CallResult> {
  const { name, sideEffects, clientConfig, timeoutSeconds = 10 } = webhook;
  const { context } = attributes;
  if (context.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  const uid = newUid();
  let read: ReviewResponse | string;
  try {
    read = readReview(await post(clientConfig, admissionReview(attributes, uid), timeoutSeconds), uid, kind);
  } catch (error) {
    return failed(webhook, `failed to call webhook: ${errorMessage(error)}`, log);
  }
  if (typeof read === 'string') return failed(webhook, `received invalid webhook response: ${read}`, log);
  for (const [key, value] of Object.entries(read.auditAnnotations ?? {})) context.annotate(`${name}/${key}`, value);
  for (const warning of read.warnings ?? []) context.warn(warning);
  if (!read.allowed) throw rejection(name, read.status);
  return { outcome: 'answered', response: read };
}

/** Handles a failed call by the failurePolicy (upstream: failurePolicy). */
export function failed({ name, failurePolicy }: Webhook, why: string, log: Logger): CallResult {
  const message = `failed calling webhook ${JSON.stringify(name)}: ${why}`;
  log.warn(
    failurePolicy === 'Ignore'
      ? 'a webhook could not be called; continuing without it'
      : 'a webhook could not be called',
    { webhook: name, error: why },
  );
  if (failurePolicy === 'Ignore') return { outcome: 'open' };
  throw internalError(message);
}

/** Returns the error for a refusal. It keeps the webhook's reason and code, but the code is never that of a success. */
function rejection(name: string, status: Status | undefined): ApiStatusError {
  const by = `admission webhook ${JSON.stringify(name)} denied the request`;
  const { message = '', reason = '', details } = status ?? {};
  const code = (status?.code ?? 0) < 400 ? 400 : (status?.code ?? 400);
  const text = message !== '' ? `${by}: ${message}` : reason !== '' ? `${by}: ${reason}` : `${by} without explanation`;
  const known = reason === '' ? 'Unknown' : apiErrorFromStatus({ reason, code }).reason;
  return new ApiStatusError(known, text, details, { code });
}
