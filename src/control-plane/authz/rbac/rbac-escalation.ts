import { isDeepStrictEqual } from 'node:util';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../api/client/resource-types.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { goQuote } from '../../../api/go-quote.ts';
import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../../../api/rbac/cluster-role.ts';
import type { PolicyRule, RoleRef } from '../../../api/rbac/policy-rule.ts';
import { ApiStatusError, forbidden, notFound } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { Authorizer, UserInfo } from '../../model/user-info.ts';
import { resolveRules } from './rbac-authorizer.ts';
import type { RoleGrants } from './role-grants.ts';
import { compactRules, missingRules } from './rule-coverage.ts';

const group = roles.group;
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Prevents users from granting rights that they do not have. Writing a role requires all its permissions in that
 * namespace, or the verb `escalate`. Writing a binding requires the permissions of its role, or the verb `bind`.
 * Upstream checks this in the storage of these kinds (registry/rbac policybased). `system:masters` is exempt.
 */
export function createRbacEscalationCheck(grants: RoleGrants, authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'RBACEscalation',
    handles: ({ definition, subresource, operation }) =>
      definition.type.group === group &&
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE') &&
      plurals.has(definition.type.plural),
    validate: async (attributes) => {
      const { object, oldObject, context } = attributes;
      if (object === undefined || context.user.groups.includes('system:masters')) return;
      if (oldObject !== undefined && changesOnlyGarbageCollection(object, oldObject)) return;
      if (attributes.definition.type.plural.endsWith('bindings'))
        await checkBinding(grants, authorizer, attributes, object as ClusterRoleBinding);
      else await checkRole(grants, authorizer, attributes, object as ClusterRole);
    },
  };
}

const plurals: ReadonlySet<string> = new Set(
  [clusterRoles, clusterRoleBindings, roles, roleBindings].map(({ plural }) => plural),
);

async function checkRole(
  grants: RoleGrants,
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  role: ClusterRole,
): Promise<void> {
  const { user } = attributes.context;
  const { plural } = attributes.definition.type;
  // A create request has no name in its path, so a rule with resource names does not match it.
  const name = attributes.operation === 'CREATE' ? '' : attributes.name;
  if (await isAllowed(authorizer, { user, verb: 'escalate', resource: plural, namespace: attributes.namespace, name }))
    return;
  refuseEscalation(grants, attributes, role.rules ?? []);
  const old = attributes.oldObject as ClusterRole | undefined;
  if (!isAggregated(role) && !(old !== undefined && isAggregated(old))) return;
  if (missingRules(resolveRules(grants, user, attributes.namespace).rules, everything, 1).rules.length === 0) return;
  throw forbidden(
    { group, plural },
    role.metadata.name,
    'must have cluster-admin privileges to use the aggregationRule',
  );
}

const isAggregated = ({ aggregationRule }: ClusterRole): boolean =>
  (aggregationRule?.clusterRoleSelectors ?? []).length > 0;

async function checkBinding(
  grants: RoleGrants,
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  binding: ClusterRoleBinding,
): Promise<void> {
  const { roleRef } = binding;
  const { user } = attributes.context;
  const resource = pluralOf(roleRef);
  if (
    await isAllowed(authorizer, { user, verb: 'bind', resource, namespace: attributes.namespace, name: roleRef.name })
  )
    return;
  const found = grants.rulesOf(roleRef, attributes.namespace);
  if ('missing' in found) throw notFound({ group, plural: resource }, roleRef.name);
  refuseEscalation(grants, attributes, found.rules);
}

function pluralOf({ kind }: RoleRef): string {
  if (kind === 'ClusterRole') return clusterRoles.plural;
  if (kind === 'Role') return roles.plural;
  throw new ApiStatusError('InternalError', `unsupported role reference kind: ${goQuote(kind)}`);
}

/** The maximum number of missing permissions in a refusal. */
const MOST_LISTED = 1000;

function refuseEscalation(grants: RoleGrants, attributes: AdmissionAttributes, asked: readonly PolicyRule[]): void {
  const { user } = attributes.context;
  const owned = resolveRules(grants, user, attributes.namespace);
  const missing = missingRules(owned.rules, asked, MOST_LISTED);
  if (missing.rules.length === 0) return;
  const lines = [...new Set(compactRules(missing.rules).map(describeRule))].sort();
  if (missing.hasMore) lines.push('and more');
  const errors = owned.errors.length === 0 ? '' : `; resolution errors: [${owned.errors.join(' ')}]`;
  const why = `user ${goQuote(user.name)} (groups=${quoteList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${errors}`;
  throw forbidden(
    { group, plural: attributes.definition.type.plural },
    attributes.object?.metadata.name ?? attributes.name,
    why,
  );
}

const quoteList = (texts: readonly string[]): string => `[${texts.map(goQuote).join(' ')}]`;

function describeRule(rule: PolicyRule): string {
  const parts = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ] as const;
  return `{${parts.flatMap(([label, values]) => (values === undefined || values.length === 0 ? [] : [`${label}:${quoteList(values)}`])).join(', ')}}`;
}

interface RoleQuestion {
  readonly user: UserInfo;
  readonly verb: 'escalate' | 'bind';
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

async function isAllowed(authorizer: Authorizer, question: RoleQuestion): Promise<boolean> {
  const { decision } = await authorizer.authorize({
    ...question,
    resourceRequest: true,
    apiGroup: group,
    apiVersion: '*',
    subresource: '',
    path: '',
  });
  return decision === 'allow';
}

/**
 * Whether only ownership changes, because the garbage collector must be able to remove finalizers of roles that it
 * could not write.
 */
function changesOnlyGarbageCollection(object: ApiObject, old: ApiObject): boolean {
  const { ownerReferences, finalizers, managedFields, resourceVersion } = old.metadata;
  const like = (metadata: ApiObject['metadata']): object => ({
    ...metadata,
    ownerReferences,
    finalizers,
    managedFields,
    resourceVersion,
  });
  return isDeepStrictEqual({ ...object, metadata: like(object.metadata) }, { ...old, metadata: like(old.metadata) });
}
