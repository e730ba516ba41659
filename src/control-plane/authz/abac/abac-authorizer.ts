import type { AuthorizationAttributes, Authorizer, UserInfo, UserRules } from '../../model/user-info.ts';
import type { AbacPolicy } from './abac-policy.ts';

/**
 * Authorizes by policies of a file. `policies` is called for each request, so that a reloaded file takes effect
 * immediately.
 */
export function createAbacAuthorizer(policies: () => readonly AbacPolicy[]): Authorizer {
  return {
    name: 'ABAC',
    authorize: (attributes) =>
      policies().some((policy) => matches(policy, attributes))
        ? { decision: 'allow', reason: '' }
        : { decision: 'noOpinion', reason: 'No policy matched.' },
    rulesFor: (user, namespace) => Promise.resolve(rulesOf(policies(), user, namespace)),
  };
}

const readOnlyVerbs: readonly string[] = ['get', 'list', 'watch'];
const is = (pattern: string, value: string): boolean => pattern === '*' || pattern === value;

function matches(policy: AbacPolicy, attributes: AuthorizationAttributes): boolean {
  if (!matchesSubject(policy, attributes.user)) return false;
  if (policy.readonly && !readOnlyVerbs.includes(attributes.verb)) return false;
  if (!attributes.resourceRequest) return matchesPath(policy.nonResourcePath, attributes.path);
  return (
    is(policy.namespace, attributes.namespace) &&
    is(policy.resource, attributes.resource) &&
    is(policy.apiGroup, attributes.apiGroup)
  );
}

/**
 * Whether the policy applies to the user. Without user and group it applies to none; with both, the user must match
 * both.
 */
function matchesSubject({ user, group }: AbacPolicy, asking: UserInfo): boolean {
  if (user === '' && group === '') return false;
  if (user !== '' && !is(user, asking.name)) return false;
  return group === '' || group === '*' || asking.groups.includes(group);
}

function matchesPath(pattern: string, path: string): boolean {
  return is(pattern, path) || (pattern.endsWith('*') && path.startsWith(pattern.replace(/(?<!\*)\*+$/, '')));
}

function rulesOf(policies: readonly AbacPolicy[], user: UserInfo, namespace: string): UserRules {
  const mine = policies.filter((policy) => matchesSubject(policy, user) && is(policy.namespace, namespace));
  const verbs = (policy: AbacPolicy): readonly string[] => (policy.readonly ? readOnlyVerbs : ['*']);
  return {
    resourceRules: mine
      .filter(({ resource }) => resource !== '')
      .map((policy) => ({
        verbs: verbs(policy),
        apiGroups: [policy.apiGroup],
        resources: [policy.resource],
        resourceNames: [],
      })),
    nonResourceRules: mine
      .filter(({ nonResourcePath }) => nonResourcePath !== '')
      .map((policy) => ({ verbs: verbs(policy), nonResourceURLs: [policy.nonResourcePath] })),
    incomplete: false,
  };
}
