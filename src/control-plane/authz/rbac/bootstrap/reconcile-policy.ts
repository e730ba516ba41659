import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../../../api/client/resource-type.ts';
import type { ClusterRoleBinding } from '../../../../api/rbac/cluster-role-binding.ts';
import type { AggregationRule, ClusterRole } from '../../../../api/rbac/cluster-role.ts';
import type { PolicyRule } from '../../../../api/rbac/policy-rule.ts';
import type { Role } from '../../../../api/rbac/role.ts';
import type { RoleBinding } from '../../../../api/rbac/role-binding.ts';
import { missingRules } from '../rule-coverage.ts';

/**
 * The change after which an object grants at least the expected rights. `recreate`: the role of a binding is immutable,
 * so the binding is replaced.
 */
export type PolicyStep<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'create' | 'update' | 'recreate'; readonly object: T };

const none = { kind: 'none' } as const;

/**
 * Adds missing permissions, labels and annotations, and removes nothing (upstream:
 * component-helpers/auth/rbac/reconciliation).
 */
export function reconcileRole<T extends Role | ClusterRole>(existing: T | undefined, expected: T): PolicyStep<T> {
  if (existing === undefined) return { kind: 'create', object: expected };
  if (isProtected(existing)) return none;
  const missing = missingRules(existing.rules ?? [], expected.rules ?? []).rules;
  const rules: PolicyRule[] = missing.length === 0 ? existing.rules : [...(existing.rules ?? []), ...missing];
  const object: T = {
    ...existing,
    metadata: mergedMetadata(existing, expected),
    rules,
    ...reconcileAggregation(existing, expected),
  };
  return isDeepStrictEqual(object, existing) ? none : { kind: 'update', object };
}

function reconcileAggregation(
  existing: Role | ClusterRole,
  expected: Role | ClusterRole,
): { aggregationRule?: AggregationRule | undefined } {
  const had = 'aggregationRule' in existing ? existing.aggregationRule : undefined;
  const wanted = 'aggregationRule' in expected ? expected.aggregationRule : undefined;
  if (wanted === undefined) return had === undefined ? {} : { aggregationRule: undefined };
  const selectors = had?.clusterRoleSelectors ?? [];
  const missing = (wanted.clusterRoleSelectors ?? []).filter(
    (selector) => !selectors.some((each) => isDeepStrictEqual(each, selector)),
  );
  return missing.length === 0 ? {} : { aggregationRule: { ...had, clusterRoleSelectors: [...selectors, ...missing] } };
}

/** Adds missing subjects, labels and annotations. */
export function reconcileBinding<T extends RoleBinding | ClusterRoleBinding>(
  existing: T | undefined,
  expected: T,
): PolicyStep<T> {
  if (existing === undefined) return { kind: 'create', object: expected };
  if (isProtected(existing)) return none;
  if (!isDeepStrictEqual({ ...existing.roleRef }, { ...expected.roleRef }))
    return { kind: 'recreate', object: expected };
  const subjects = existing.subjects ?? [];
  const missing = (expected.subjects ?? []).filter(
    (subject) => !subjects.some((each) => isDeepStrictEqual({ ...each }, { ...subject })),
  );
  const object: T = {
    ...existing,
    metadata: mergedMetadata(existing, expected),
    ...(missing.length > 0 && { subjects: [...subjects, ...missing] }),
  };
  return isDeepStrictEqual(object, existing) ? none : { kind: 'update', object };
}

const isProtected = ({ metadata }: ApiObject): boolean =>
  metadata.annotations?.['rbac.authorization.kubernetes.io/autoupdate'] === 'false';

/** Merges the metadata. Existing values have precedence over expected ones. */
function mergedMetadata(existing: ApiObject, expected: ApiObject): ApiObject['metadata'] {
  return {
    ...existing.metadata,
    ...merged('labels', existing, expected),
    ...merged('annotations', existing, expected),
  };
}

function merged(
  field: 'labels' | 'annotations',
  existing: ApiObject,
  expected: ApiObject,
): Partial<ApiObject['metadata']> {
  const wanted = expected.metadata[field];
  return wanted === undefined ? {} : { [field]: { ...wanted, ...existing.metadata[field] } };
}
