import { ownValue } from '../../../base/lookup.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../../../api/core/resource-quota.ts';
import type { Amounts } from '../../../api/quota/amounts.ts';
import {
  addAmounts,
  exceeding,
  formatAmounts,
  growthOf,
  negativeOf,
  onlyOf,
  parseAmounts,
  withoutZeros,
} from '../../../api/quota/amounts.ts';
import type { QuotaEvaluator } from '../../../api/quota/evaluators.ts';
import { isInScopes, scopesOf } from '../../../api/quota/quota-usage.ts';

/** A kind whose usage a quota must cover (upstream: ResourceQuotaConfiguration's limitedResources). */
export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

/** A write with its effect on quotas. */
export interface QuotaRequest {
  readonly evaluator: QuotaEvaluator;
  readonly object: ApiObject;
  /** Absent for creates. */
  readonly oldObject: ApiObject | undefined;
  /** Writes of `status` are not refused, because they report what has already happened. */
  readonly subresource: string;
  /** The limited resources of this kind. */
  readonly limited: readonly LimitedResource[];
  /** All configured limited resources; upstream matches the scopes of each. */
  readonly limitedScopes: readonly ScopedResourceSelectorRequirement[];
}

export type Charge =
  /** `plain` means that upstream reports this text without a Forbidden prefix. */
  | { readonly outcome: 'refused'; readonly why: string; readonly plain?: true }
  /** The quotas after the request was charged. Unchanged quotas are the same objects. */
  | { readonly outcome: 'charged'; readonly quotas: readonly ResourceQuota[] };

interface Concerned {
  readonly quota: ResourceQuota;
  readonly growth: Amounts;
}

/**
 * Decides whether the request fits into all quotas, and computes the quotas afterwards (upstream: resourcequota
 * CheckRequest).
 */
export function chargeQuotas(quotas: readonly ResourceQuota[], request: QuotaRequest, nowMs: number): Charge {
  const { evaluator, object, oldObject, limited, limitedScopes } = request;
  const usage = evaluator.usage(object, nowMs);
  const concerning = quotas.filter(
    (quota) =>
      Object.keys(quota.status?.hard ?? {}).some((name) => evaluator.counts(name)) &&
      isInScopes(evaluator, object, quota),
  );
  for (const quota of concerning) {
    const problem = quotaProblem(quota, evaluator, object);
    if (problem !== undefined) return { outcome: 'refused', why: problem };
  }
  const negative = negativeOf(usage);
  if (negative.length > 0)
    return { outcome: 'refused', why: `quota usage is negative for resource(s): ${[...negative].sort().join(',')}` };
  const more = oldObject === undefined ? usage : growthOf(usage, evaluator.usage(oldObject, nowMs));
  const concerned = concerning
    .map(
      (quota): Concerned => ({
        quota,
        growth: withoutZeros(oldObject !== undefined && isInScopes(evaluator, oldObject, quota) ? more : usage),
      }),
    )
    .filter(({ growth }) => growth.size > 0);
  if (concerning.length === 0 ? withoutZeros(more).size === 0 : concerned.length === 0)
    return { outcome: 'charged', quotas };
  const covered = new Set(
    concerning.flatMap(({ status }) => Object.keys(status?.hard ?? {}).filter((name) => evaluator.counts(name))),
  );
  const uncovered = uncoveredProblem({ usage, covered, limited });
  if (uncovered !== undefined) return { outcome: 'refused', why: uncovered };
  const scopes = uncoveredScopes(request, limitedScopes, quotas);
  if (scopes !== undefined) return { outcome: 'refused', why: scopes, plain: true };
  return chargeEach(quotas, concerned, request.subresource === 'status');
}

function quotaProblem(
  { metadata, status }: ResourceQuota,
  evaluator: QuotaEvaluator,
  object: ApiObject,
): string | undefined {
  const bounded = Object.keys(status?.hard ?? {})
    .filter((name) => evaluator.counts(name))
    .sort();
  const missing = evaluator.missing(bounded, object);
  if (missing !== undefined) return `failed quota: ${metadata.name}: ${missing}`;
  const known = bounded.every((name) => ownValue(status?.used, name) !== undefined);
  return known ? undefined : `status unknown for quota: ${metadata.name}, resources: ${bounded.join(',')}`;
}

function uncoveredProblem({
  usage,
  covered,
  limited,
}: {
  readonly usage: Amounts;
  readonly covered: ReadonlySet<string>;
  readonly limited: readonly LimitedResource[];
}): string | undefined {
  const used = [...usage].filter(([, { nanos }]) => nanos > 0n).map(([name]) => name);
  const uncovered = used.filter(
    (name) =>
      !covered.has(name) && limited.some(({ matchContains }) => matchContains.some((part) => name.includes(part))),
  );
  return uncovered.length === 0 ? undefined : `insufficient quota to consume: ${[...uncovered].sort().join(',')}`;
}

function uncoveredScopes(
  { evaluator, object }: QuotaRequest,
  limitedScopes: readonly ScopedResourceSelectorRequirement[],
  quotas: readonly ResourceQuota[],
): string | undefined {
  const asked = limitedScopes.filter((scope) => evaluator.isInScope(object, scope));
  if (asked.length === 0) return undefined;
  const offered = new Set(
    quotas
      .flatMap(scopesOf)
      .filter((scope) => evaluator.isInScope(object, scope))
      .map(({ scopeName }) => scopeName),
  );
  const lacking = asked.filter(({ scopeName }) => !offered.has(scopeName));
  const shown = lacking.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`,
  );
  return lacking.length === 0 ? undefined : `insufficient quota to match these scopes: [${shown.join(' ')}]`;
}

function chargeEach(quotas: readonly ResourceQuota[], concerned: readonly Concerned[], always: boolean): Charge {
  const charged = new Map<ResourceQuota, ResourceQuota>();
  for (const { quota, growth } of concerned) {
    const [hard, used] = [parseAmounts(quota.status?.hard), parseAmounts(quota.status?.used)];
    const asked = onlyOf(growth, new Set(hard.keys()));
    const after = addAmounts(used, asked);
    const over = exceeding(onlyOf(after, new Set(asked.keys())), hard);
    if (over.size > 0 && !always) {
      const shown = (amounts: Amounts): string => describe(onlyOf(amounts, over));
      return {
        outcome: 'refused',
        why: `exceeded quota: ${quota.metadata.name}, requested: ${shown(asked)}, used: ${shown(used)}, limited: ${shown(hard)}`,
      };
    }
    if (asked.size > 0) charged.set(quota, { ...quota, status: { ...quota.status, used: formatAmounts(after) } });
  }
  return {
    outcome: 'charged',
    quotas: charged.size === 0 ? quotas : quotas.map((quota) => charged.get(quota) ?? quota),
  };
}

/** Formats amounts as `cpu=1,memory=1Gi`, in the order of their names. */
function describe(amounts: Amounts): string {
  const list = formatAmounts(amounts);
  return Object.keys(list)
    .sort()
    .map((name) => `${name}=${list[name] ?? ''}`)
    .join(',');
}
