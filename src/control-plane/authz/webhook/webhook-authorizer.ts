import { parseFieldSelector, parseLabelSelector } from '../../../api/selectors.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { runAtPace } from '../../../base/steps.ts';
import { Pace } from '../../../base/turn.ts';
import type { AccessObserver, WebhookResult } from '../../model/access-observer.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../../model/user-info.ts';
import type { Program } from '../../../cel/compile.ts';
import type { ReviewedAccess } from '../configuration/match-conditions.ts';
import { judgeConditions } from '../configuration/match-conditions.ts';

/** Upstream's defaults (--authorization-webhook-cache-authorized-ttl, -unauthorized-ttl). */
const AUTHORIZED_MS = 300_000;
const UNAUTHORIZED_MS = 30_000;
const ENTRIES = 8192;
/** Requests with longer attributes are not cached, so that long names cannot fill the memory. */
const LONGEST_CACHED = 10_000;
/** Five attempts; the delay grows by half each time (upstream: webhook.DefaultRetryBackoffWithInitialDelay). */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;

export interface WebhookAuthorizerOptions {
  /** Posts a SubjectAccessReview with a timeout. Rejects if there is no response. */
  readonly post: (review: object) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The decision without a response: no opinion (upstream's default), or deny. */
  readonly failurePolicy?: 'NoOpinion' | 'Deny';
  /** How long allowed requests are cached, in milliseconds; 0 turns it off. */
  readonly authorizedMs?: number;
  readonly unauthorizedMs?: number;
  /** The name in the configuration file. The only webhook of the flags is `default`. */
  readonly name?: string;
  /** The version of the reviews that are sent. */
  readonly version?: 'v1' | 'v1beta1';
  /** The webhook is called only if all of these are true. */
  readonly conditions?: readonly Program[];
  readonly observer?: Pick<AccessObserver, 'webhookAsked' | 'webhookFailedOpen' | 'conditionsJudged'>;
}

interface Verdict {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

/**
 * Authorizes requests with a webhook (--authorization-webhook-config-file) that receives SubjectAccessReviews of
 * authorization.k8s.io/v1, and caches its responses.
 */
export function createWebhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const {
    clock,
    log,
    failurePolicy = 'NoOpinion',
    authorizedMs = AUTHORIZED_MS,
    unauthorizedMs = UNAUTHORIZED_MS,
    name = 'default',
    conditions = [],
    observer,
  } = options;
  const known = new Map<string, { verdict: Verdict; untilMs: number }>();
  const remember = (key: string, verdict: Verdict): void => {
    const keptMs = verdict.allowed ? authorizedMs : unauthorizedMs;
    if (keptMs <= 0) return;
    if (known.size >= ENTRIES) known.delete(known.keys().next().value ?? '');
    known.set(key, { verdict, untilMs: clock.monotonicMs() + keptMs });
  };
  const onError = (error: string): AuthorizationDecision => ({
    decision: failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
    reason: '',
    evaluationError: error,
  });
  const judge = async (attributes: AuthorizationAttributes): Promise<boolean | { readonly error: string }> => {
    if (conditions.length === 0) return true;
    const startedMs = clock.monotonicMs();
    const pace = new Pace(clock);
    const steps = judgeConditions(conditions, reviewedAccess(attributes));
    const result = await runAtPace(steps, () => pace.rest());
    const outcome = result === true ? 'match' : result === false ? 'excluded' : 'error';
    observer?.conditionsJudged(name, outcome, clock.monotonicMs() - startedMs);
    return result;
  };
  return {
    name: 'Webhook',
    authorize: async (attributes): Promise<AuthorizationDecision> => {
      const matches = await judge(attributes);
      if (typeof matches !== 'boolean') return onError(matches.error);
      if (!matches) return { decision: 'noOpinion', reason: '' };
      const spec = reviewSpec(attributes);
      const key = JSON.stringify(spec);
      const found = known.get(key);
      if (found !== undefined && clock.monotonicMs() < found.untilMs) return decide(found.verdict);
      known.delete(key);
      try {
        const verdict = await askRepeatedly(options, spec);
        if (controlledLength(attributes) < LONGEST_CACHED) remember(key, verdict);
        return decide(verdict);
      } catch (error) {
        log.error('the authorization webhook did not respond', { authorizer: name, error: errorMessage(error) });
        if (failurePolicy === 'NoOpinion') observer?.webhookFailedOpen(name, resultOf(error));
        return onError(errorMessage(error));
      }
    },
    rulesFor: () =>
      Promise.resolve({
        resourceRules: [],
        nonResourceRules: [],
        incomplete: true,
        evaluationError: 'webhook authorizer does not support user rule resolution',
      }),
  };
}

function decide({ allowed, denied, reason }: Verdict): AuthorizationDecision {
  if (denied)
    return {
      decision: 'deny',
      reason,
      ...(allowed && { evaluationError: 'webhook subject access review returned both allow and deny response' }),
    };
  return { decision: allowed ? 'allow' : 'noOpinion', reason };
}

/** Returns the length of attributes that the client controls. */
function controlledLength({
  name,
  namespace,
  path,
  resource,
  subresource,
  verb,
  apiGroup,
  apiVersion,
  fieldSelector = '',
  labelSelector = '',
}: AuthorizationAttributes): number {
  return [name, namespace, path, resource, subresource, verb, apiGroup, apiVersion, fieldSelector, labelSelector].join(
    '',
  ).length;
}

const resultOf = (error: unknown): WebhookResult =>
  error instanceof KubeletError && error.kind === 'Timeout' ? 'timeout' : 'error';

async function askRepeatedly(options: WebhookAuthorizerOptions, spec: object): Promise<Verdict> {
  const { clock, observer, name = 'default' } = options;
  let pauseMs = FIRST_PAUSE_MS;
  for (let attempt = 1; ; attempt++) {
    const startedMs = clock.monotonicMs();
    const asked = (result: WebhookResult): void =>
      observer?.webhookAsked(name, result, clock.monotonicMs() - startedMs);
    try {
      const verdict = await askOnce(options, spec);
      asked('success');
      return verdict;
    } catch (error) {
      asked(resultOf(error));
      const isFinal = error instanceof KubeletError && error.kind === 'Invalid';
      if (isFinal || attempt >= ATTEMPTS) throw error;
    }
    await sleep(clock, pauseMs);
    pauseMs *= 1.5;
  }
}

/** Sends one review. In v1beta1 the groups have another name. */
async function askOnce({ post, version = 'v1' }: WebhookAuthorizerOptions, spec: object): Promise<Verdict> {
  const { groups, ...others } = spec as { readonly groups?: unknown };
  const sent = version === 'v1' ? spec : { ...others, group: groups };
  const apiVersion = `authorization.k8s.io/${version}`;
  return readVerdict(await post({ apiVersion, kind: 'SubjectAccessReview', metadata: {}, spec: sent }));
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** Reads the answer. Throws `Unavailable` for errors that may be retried. */
function readVerdict({ status, body }: { readonly status: number; readonly body: unknown }): Verdict {
  if (status === 429 || status >= 500)
    throw new KubeletError('Unavailable', `the authorization webhook answered ${status}`);
  if (status < 200 || status > 299) throw new KubeletError('Invalid', `the authorization webhook answered ${status}`);
  const { allowed, denied, reason } = record(record(body)['status']);
  return { allowed: allowed === true, denied: denied === true, reason: typeof reason === 'string' ? reason : '' };
}

/** Converts attributes for match conditions, in which every text is set, even if it is empty. */
function reviewedAccess(attributes: AuthorizationAttributes): ReviewedAccess {
  const { name, uid = '', groups, extra = {} } = attributes.user;
  const who = { user: name, uid, groups, extra };
  if (!attributes.resourceRequest)
    return { ...who, nonResourceAttributes: { path: attributes.path, verb: attributes.verb } };
  return {
    ...who,
    resourceAttributes: {
      ...resourceParts(attributes),
      ...fieldRequirements(attributes.fieldSelector),
      ...labelRequirements(attributes.labelSelector),
    },
  };
}

function resourceParts(attributes: AuthorizationAttributes): Readonly<Record<string, string>> {
  return {
    namespace: attributes.namespace,
    verb: attributes.verb,
    group: attributes.apiGroup,
    version: attributes.apiVersion,
    resource: attributes.resource,
    subresource: attributes.subresource,
    name: attributes.name,
  };
}

function reviewSpec(attributes: AuthorizationAttributes): object {
  const { name, uid, groups, extra } = attributes.user;
  const who = { user: name, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) };
  if (!attributes.resourceRequest)
    return { nonResourceAttributes: { path: attributes.path, verb: attributes.verb }, ...who };
  const given = Object.fromEntries(Object.entries(resourceParts(attributes)).filter(([, value]) => value !== ''));
  return {
    resourceAttributes: {
      ...given,
      ...fieldRequirements(attributes.fieldSelector),
      ...labelRequirements(attributes.labelSelector),
    },
    ...who,
  };
}

/**
 * Returns the requirements. Selectors that cannot be parsed are left out, so the review then covers more than the
 * request.
 */
function fieldRequirements(selector = ''): object {
  const parsed = parseFieldSelector(selector);
  if (typeof parsed === 'string' || parsed.length === 0) return {};
  return {
    fieldSelector: {
      requirements: parsed.map(({ field, equal, value }) => ({
        key: field,
        operator: equal ? 'In' : 'NotIn',
        values: [value],
      })),
    },
  };
}

function labelRequirements(selector = ''): object {
  const parsed = parseLabelSelector(selector);
  if (typeof parsed === 'string' || parsed.length === 0) return {};
  return {
    labelSelector: {
      requirements: parsed.map(({ key, operator, values }) => ({
        key,
        operator,
        ...(values.length > 0 && { values }),
      })),
    },
  };
}
