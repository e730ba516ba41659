import type { ApiClient } from '../../../../api/client/api-client.ts';
import type { ApiObject, ResourceType } from '../../../../api/client/resource-type.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  namespaces,
  roleBindings,
  roles,
} from '../../../../api/client/resource-types.ts';
import type { ClusterRole } from '../../../../api/rbac/cluster-role.ts';
import { isApiError } from '../../../../api/status/api-status-error.ts';
import type { Logger } from '../../../../base/log.ts';
import { defaultPolicy } from './default-policy.ts';
import type { RbacPolicy } from './default-policy.ts';
import { reconcileBinding, reconcileRole } from './reconcile-policy.ts';
import type { PolicyStep } from './reconcile-policy.ts';

const ATTEMPTS = 5;

/**
 * Reconciles the default roles and bindings, as upstream does at every start. It is idempotent, and other servers may
 * do the same concurrently. A failed write does not stop the others. After all were tried, it rejects with the last
 * error.
 */
export async function ensureDefaultPolicy(
  client: ApiClient,
  log: Logger,
  policy: RbacPolicy = defaultPolicy(),
): Promise<void> {
  const failures: unknown[] = [];
  const each = async <T extends ApiObject>(
    type: ResourceType<T>,
    expected: readonly T[],
    decide: (existing: T | undefined, wanted: T) => PolicyStep<T>,
  ): Promise<void> => {
    const existing = new Map((await client.list(type, '')).items.map((item) => [keyText(item), item]));
    for (const wanted of expected) {
      try {
        await reconcile({ client, type, decide }, wanted, existing.get(keyText(wanted)));
      } catch (error) {
        log.error('unable to reconcile a default role or binding', {
          kind: type.kind,
          name: wanted.metadata.name,
          namespace: wanted.metadata.namespace,
          error: String(error),
        });
        failures.push(error);
      }
    }
  };
  await keepOldRules(client, log);
  for (const name of new Set(policy.roles.map(({ metadata }) => metadata.namespace)))
    await ensureNamespace(client, name);
  await each(clusterRoles, policy.clusterRoles, reconcileRole);
  await each(clusterRoleBindings, policy.clusterRoleBindings, reconcileBinding);
  await each(roles, policy.roles, reconcileRole);
  await each(roleBindings, policy.roleBindings, reconcileBinding);
  if (failures.length > 0) throw failures[failures.length - 1];
}

const keyText = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;

interface Reconciliation<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  readonly decide: (existing: T | undefined, wanted: T) => PolicyStep<T>;
}

/** Decides and writes. After a conflict it repeats both with the current object. */
async function reconcile<T extends ApiObject>(
  { client, type, decide }: Reconciliation<T>,
  wanted: T,
  seen: T | undefined,
): Promise<void> {
  let existing = seen;
  for (let attempt = 1; ; attempt++) {
    try {
      await act(client, type, decide(existing, wanted), existing);
      return;
    } catch (error) {
      if (attempt >= ATTEMPTS || !isApiError(error, 'Conflict', 'AlreadyExists', 'NotFound')) throw error;
      existing = await find(client, type, wanted);
    }
  }
}

async function act<T extends ApiObject>(
  client: ApiClient,
  type: ResourceType<T>,
  step: PolicyStep<T>,
  existing: T | undefined,
): Promise<void> {
  if (step.kind === 'none') return;
  const { namespace, name } = step.object.metadata;
  if (step.kind === 'update') {
    await client.update(type, step.object);
    return;
  }
  if (step.kind === 'recreate' && existing !== undefined) {
    try {
      await client.delete(type, { namespace, name }, { preconditions: { uid: existing.metadata.uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }
  await client.create(type, step.object);
}

async function find<T extends ApiObject>(
  client: ApiClient,
  type: ResourceType<T>,
  { metadata }: T,
): Promise<T | undefined> {
  try {
    return await client.get(type, { namespace: metadata.namespace, name: metadata.name });
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function ensureNamespace(client: ApiClient, name: string): Promise<void> {
  try {
    await client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, namespace: '', uid: '' },
      spec: {},
      status: {},
    });
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error;
  }
}

/**
 * Moves manually changed rules of `admin`, `edit` or `view` to the roles that are aggregated into them, in clusters
 * from before aggregation.
 */
async function keepOldRules(client: ApiClient, log: Logger): Promise<void> {
  for (const name of ['admin', 'edit', 'view']) {
    const part: ClusterRole = { metadata: { name: `system:aggregate-to-${name}`, namespace: '', uid: '' }, rules: [] };
    if ((await find(client, clusterRoles, part)) !== undefined) continue;
    const old = await find(client, clusterRoles, { ...part, metadata: { ...part.metadata, name } });
    if (old === undefined || old.aggregationRule !== undefined) continue;
    log.info('moving the rules of a cluster role to the one it is aggregated from', {
      from: name,
      to: part.metadata.name,
    });
    const { labels, annotations } = old.metadata;
    await client.create(clusterRoles, {
      ...old,
      metadata: { ...part.metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
    });
  }
}
