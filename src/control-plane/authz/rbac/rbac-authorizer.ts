import { goAggregate } from '../../../api/go-aggregate.ts';
import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
  UserInfo,
  UserRules,
} from '../../model/user-info.ts';
import { ruleAllows } from './policy-rules.ts';
import { describeGrant, describeMissing } from './role-grants.ts';
import type { RoleGrants } from './role-grants.ts';

/**
 * Authorizes by roles and bindings. It never denies: without a matching rule it has no opinion (upstream:
 * plugin/pkg/auth/authorizer/rbac).
 */
export function createRbacAuthorizer(grants: RoleGrants): Authorizer {
  return {
    name: 'RBAC',
    authorize: (attributes) => authorizeByGrants(grants, attributes),
    rulesFor: (user, namespace) => Promise.resolve(toUserRules(resolveRules(grants, user, namespace))),
  };
}

function authorizeByGrants(grants: RoleGrants, attributes: AuthorizationAttributes): AuthorizationDecision {
  const { user } = attributes;
  const errors: string[] = [];
  for (const grant of grants.grantsOf(user, attributes.namespace)) {
    const { rules } = grant;
    if ('missing' in rules) errors.push(describeMissing(rules.missing));
    else if (rules.rules.some((rule) => ruleAllows(rule, attributes)))
      return { decision: 'allow', reason: `RBAC: allowed by ${describeGrant(grant, user)}` };
  }
  return { decision: 'noOpinion', reason: errors.length === 0 ? '' : `RBAC: ${goAggregate(errors)}` };
}

export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** The errors for missing roles that bindings name. */
  readonly errors: readonly string[];
}

/** Returns all rules that bindings grant the user in the namespace. */
export function resolveRules(grants: RoleGrants, user: UserInfo, namespace: string): ResolvedRules {
  const rules: PolicyRule[] = [];
  const errors: string[] = [];
  for (const { rules: found } of grants.grantsOf(user, namespace)) {
    if ('missing' in found) errors.push(describeMissing(found.missing));
    else rules.push(...found.rules);
  }
  return { rules, errors };
}

function toUserRules({ rules, errors }: ResolvedRules): UserRules {
  const resourceRules: UserRules['resourceRules'][number][] = [];
  const nonResourceRules: UserRules['nonResourceRules'][number][] = [];
  for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
    if (resources.length > 0) resourceRules.push({ verbs, apiGroups, resources, resourceNames });
    if (nonResourceURLs.length > 0) nonResourceRules.push({ verbs, nonResourceURLs });
  }
  return {
    resourceRules,
    nonResourceRules,
    incomplete: false,
    ...(errors.length > 0 && { evaluationError: goAggregate(errors) }),
  };
}
