import type { ApiObject } from '../client/resource-type.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../core/resource-quota.ts';
import type { GroupResource } from '../status/api-status-error.ts';
import { addAmounts, formatAmounts, noItem, onlyOf, parseAmounts, sameAmounts } from './amounts.ts';
import type { Amounts } from './amounts.ts';
import { evaluatorOf } from './evaluators.ts';
import type { QuotaEvaluator } from './evaluators.ts';

/** The scopes of the quota; an object counts only if it is in all of them. */
export function scopesOf({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const scopes = (spec.scopes ?? []).map(
    (scopeName): ScopedResourceSelectorRequirement => ({ scopeName, operator: 'Exists' }),
  );
  return [...scopes, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

export function isInScopes(evaluator: QuotaEvaluator, object: ApiObject, quota: ResourceQuota): boolean {
  return scopesOf(quota).every((scope) => evaluator.isInScope(object, scope));
}

/** Whether the quota limits a resource that objects of the kind use. */
export function concernsQuota(type: GroupResource, { spec, status }: ResourceQuota): boolean {
  const evaluator = evaluatorOf(type);
  return (
    evaluator !== undefined &&
    [...Object.keys(spec.hard ?? {}), ...Object.keys(status?.hard ?? {})].some((name) => evaluator.counts(name))
  );
}

/** The usage of a namespace's objects, for the resources of a quota. */
export function computeQuotaUsage<Kind extends GroupResource>(
  quota: ResourceQuota,
  types: readonly Kind[],
  list: (type: Kind) => readonly ApiObject[],
  nowMs: number,
): Amounts {
  const names = new Set(Object.keys(quota.spec.hard ?? {}));
  let used: Amounts = new Map([...names].map((name) => [name, noItem]));
  for (const type of types) {
    const evaluator = evaluatorOf(type);
    const own = new Set([...names].filter((name) => evaluator?.counts(name) === true));
    if (evaluator === undefined || own.size === 0) continue;
    for (const object of list(type)) {
      if (isInScopes(evaluator, object, quota)) used = addAmounts(used, onlyOf(evaluator.usage(object, nowMs), own));
    }
  }
  return used;
}

/** The computed status of the quota; undefined when it is already correct. */
export function newQuotaStatus({ spec, status }: ResourceQuota, used: Amounts): ResourceQuota['status'] | undefined {
  const same =
    status?.used !== undefined &&
    sameAmounts(parseAmounts(spec.hard), parseAmounts(status.hard)) &&
    sameAmounts(used, parseAmounts(status.used));
  return same ? undefined : { hard: spec.hard ?? {}, used: formatAmounts(used) };
}
