import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole } from '../../../api/rbac/cluster-role.ts';
import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';

/**
 * Computes the rules of an aggregated role: those of all selected roles, by selector, then by name, without duplicates
 * (upstream: clusterroleaggregation). It is undefined if the role has them already or is not aggregated.
 */
export function computeAggregatedRules(
  role: ClusterRole,
  all: readonly ClusterRole[],
): readonly PolicyRule[] | undefined {
  if (role.aggregationRule === undefined) return undefined;
  const others = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    for (const other of others) {
      if (!matchesLabelSelector(selector, other.metadata.labels ?? {})) continue;
      for (const rule of other.rules ?? []) rules.set(ruleKey(rule), rules.get(ruleKey(rule)) ?? rule);
    }
  }
  const wanted = [...rules.values()];
  return isDeepStrictEqual(wanted.map(ruleKey), (role.rules ?? []).map(ruleKey)) ? undefined : wanted;
}

const ruleKey = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []]);
