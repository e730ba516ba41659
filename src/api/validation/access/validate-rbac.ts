/**
 * Rules of rbac.authorization.k8s.io/v1 (upstream: rbac/validation). Admission asks the authorizer whether the writer
 * has the permissions that a role grants.
 */
import type { ClusterRoleBinding } from '../../rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../../rbac/cluster-role.ts';
import type { PolicyRule, RoleRef, Subject } from '../../rbac/policy-rule.ts';
import type { RoleBinding } from '../../rbac/role-binding.ts';
import type { Role } from '../../rbac/role.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { isInvalidSelector, validateLabelSelector, validateObjectMeta } from '../metadata.ts';
import { checkDnsSubdomain, checkPathSegment } from '../names.ts';

const GROUP = 'rbac.authorization.k8s.io';

export function validateRole({ metadata, rules }: Role): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { checkName: checkPathSegment });
  validateRules(errors, rules, true);
  return errors.list;
}

export function validateClusterRole(role: ClusterRole): FieldError[] {
  return validateWholeRole(role, false);
}

/** Invalid label values in the selector may stay. */
export function validateClusterRoleUpdate(role: ClusterRole, old: ClusterRole): FieldError[] {
  return validateWholeRole(role, (old.aggregationRule?.clusterRoleSelectors ?? []).some(isInvalidSelector));
}

function validateWholeRole({ metadata, rules, aggregationRule }: ClusterRole, anyValue: boolean): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true, checkName: checkPathSegment });
  validateRules(errors, rules, false);
  if (aggregationRule === undefined) return errors.list;
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    errors.required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [index, selector] of selectors.entries()) {
    const found = errors.list.length;
    validateLabelSelector(errors, `${field}[${index}]`, selector, { anyValue });
    if (errors.list.length > found && isInvalidSelector(selector))
      errors.invalid(`${field}[${index}]`, undefined, 'invalid label selector.');
  }
  return errors.list;
}

function validateRules(errors: FieldErrors, rules: readonly PolicyRule[], isNamespaced: boolean): void {
  for (const [index, rule] of rules.entries()) validateRule(errors, `rules[${index}]`, rule, isNamespaced);
}

function validateRule(errors: FieldErrors, path: string, rule: PolicyRule, isNamespaced: boolean): void {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (verbs.length === 0) errors.required(`${path}.verbs`, 'verbs must contain at least one value');
  if (nonResourceURLs.length > 0) {
    const field = `${path}.nonResourceURLs`;
    if (isNamespaced) errors.invalid(field, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      errors.invalid(field, nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  if (apiGroups.length === 0) errors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
  if (resources.length === 0) errors.required(`${path}.resources`, 'resource rules must supply at least one resource');
}

export function validateRoleBinding(binding: RoleBinding): FieldError[] {
  return validateBinding(binding, true);
}

export function validateClusterRoleBinding(binding: ClusterRoleBinding): FieldError[] {
  return validateBinding(binding, false);
}

function validateBinding(
  { metadata, roleRef, subjects = [] }: RoleBinding | ClusterRoleBinding,
  isNamespaced: boolean,
): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: !isNamespaced, checkName: checkPathSegment });
  validateRoleRef(errors, roleRef, isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']);
  for (const [index, subject] of subjects.entries())
    validateSubject(errors, `subjects[${index}]`, subject, isNamespaced);
  return errors.list;
}

function validateRoleRef(errors: FieldErrors, { apiGroup, kind, name }: RoleRef, kinds: readonly string[]): void {
  errors.oneOf('roleRef.apiGroup', apiGroup, [GROUP]);
  errors.oneOf('roleRef.kind', kind, kinds);
  if (name === '') errors.required('roleRef.name');
  else errors.invalidEach('roleRef.name', name, checkPathSegment(name));
}

function validateSubject(
  errors: FieldErrors,
  path: string,
  { kind, apiGroup = '', name, namespace = '' }: Subject,
  isNamespaced: boolean,
): void {
  if (name === '') errors.required(`${path}.name`);
  if (kind === 'User' || kind === 'Group') return errors.oneOf(`${path}.apiGroup`, apiGroup, [GROUP]);
  if (kind !== 'ServiceAccount') return errors.notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']);
  if (name !== '') errors.invalidEach(`${path}.name`, name, checkDnsSubdomain(name));
  if (apiGroup !== '') errors.notSupported(`${path}.apiGroup`, apiGroup, ['']);
  if (!isNamespaced && namespace === '') errors.required(`${path}.namespace`);
}

/** The role of a binding cannot be changed: a user who may edit the binding could otherwise grant other roles. */
export function validateRoleBindingUpdate(binding: RoleBinding, old: RoleBinding): FieldError[] {
  return [...validateRoleBinding(binding), ...sameRole(binding, old)];
}

export function validateClusterRoleBindingUpdate(binding: ClusterRoleBinding, old: ClusterRoleBinding): FieldError[] {
  return [...validateClusterRoleBinding(binding), ...sameRole(binding, old)];
}

function sameRole(
  { roleRef }: { readonly roleRef: RoleRef },
  old: { readonly roleRef: RoleRef },
): readonly FieldError[] {
  const errors = new FieldErrors();
  // Upstream prints its internal type here, whose field names start with a capital.
  if (!semanticEqual(roleRef, old.roleRef))
    errors.invalid(
      'roleRef',
      { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name },
      'cannot change roleRef',
    );
  return errors.list;
}
