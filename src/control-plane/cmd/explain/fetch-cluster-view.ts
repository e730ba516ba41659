import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  daemonSets,
  deployments,
  deviceClasses,
  events,
  jobs,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  replicaSets,
  resourceClaims,
  resourceSlices,
  services,
  statefulSets,
  storageClasses,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { emptyView } from '../../explain/cluster-view.ts';
import type { ClusterView } from '../../explain/cluster-view.ts';

type Lists = Omit<ClusterView, 'unseen' | 'agents'>;

/** Pods and nodes of all namespaces are needed, because the free resources of a node depend on all of its pods. */
const types: { readonly [Name in keyof Lists]: { readonly type: ResourceType; readonly isWide: boolean } } = {
  pods: { type: pods, isWide: true },
  nodes: { type: nodes, isWide: true },
  events: { type: events, isWide: false },
  claims: { type: persistentVolumeClaims, isWide: true },
  volumes: { type: persistentVolumes, isWide: true },
  storageClasses: { type: storageClasses, isWide: true },
  csiNodes: { type: csiNodes, isWide: true },
  csiDrivers: { type: csiDrivers, isWide: true },
  storageCapacities: { type: csiStorageCapacities, isWide: true },
  attachments: { type: volumeAttachments, isWide: true },
  namespaces: { type: namespaces, isWide: true },
  services: { type: services, isWide: true },
  budgets: { type: podDisruptionBudgets, isWide: true },
  deployments: { type: deployments, isWide: false },
  replicaSets: { type: replicaSets, isWide: true },
  statefulSets: { type: statefulSets, isWide: false },
  daemonSets: { type: daemonSets, isWide: false },
  jobs: { type: jobs, isWide: false },
  resourceClaims: { type: resourceClaims, isWide: true },
  resourceSlices: { type: resourceSlices, isWide: true },
  deviceClasses: { type: deviceClasses, isWide: true },
};

const PAGE = 500;

/**
 * Kinds that cannot be listed are left out and named in `unseen`, so that a user of one namespace gets a partial view.
 * Rejects if the API server cannot be reached.
 */
export async function fetchClusterView(
  client: Pick<ApiClient, 'list'>,
  namespace: string | undefined,
): Promise<ClusterView> {
  const unseen = new Set<string>();
  const lists = await Promise.all(
    (Object.keys(types) as (keyof Lists)[]).map(async (name) => {
      const { type, isWide } = types[name];
      const where = namespace === undefined || !type.namespaced ? '' : namespace;
      try {
        return [name, await listAll(client, type, isWide ? '' : where)] as const;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        unseen.add(name);
        return [name, isWide && where !== '' ? await listAll(client, type, where).catch(() => []) : []] as const;
      }
    }),
  );
  return { ...emptyView, ...(Object.fromEntries(lists) as unknown as Lists), unseen };
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ApiStatusError && (error.reason === 'Forbidden' || error.reason === 'NotFound');

async function listAll(
  client: Pick<ApiClient, 'list'>,
  type: ResourceType,
  namespace: string,
): Promise<readonly ApiObject[]> {
  const items: ApiObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(type, namespace, { limit: PAGE, ...(next !== undefined && { continue: next }) });
    items.push(...page.items);
    next = page.continue;
  } while (next !== undefined && next !== '');
  return items;
}

/** The maximum number of nodes that are queried; pods of other nodes are explained by their status. */
const MOST_NODES = 20;

/**
 * The explanations of pods from the agents of these nodes. Unreachable nodes and other kubelets return nothing. Never
 * rejects.
 */
export async function fetchAgents(
  get: (path: string) => Promise<unknown>,
  nodeNames: Iterable<string>,
): Promise<ReadonlyMap<string, PodExplanation>> {
  const answers = await Promise.all(
    [...new Set(nodeNames)]
      .slice(0, MOST_NODES)
      .map((name) => get(`/api/v1/nodes/${encodeURIComponent(name)}/proxy/explain`).catch(() => undefined)),
  );
  return new Map(
    answers.flatMap((answer) =>
      Array.isArray(answer)
        ? answer.filter(isExplanation).map((each) => [`${each.namespace}/${each.name}`, each] as const)
        : [],
    ),
  );
}

function isExplanation(value: unknown): value is PodExplanation {
  if (typeof value !== 'object' || value === null) return false;
  const { namespace, name, blockers, suggestions, timeline } = value as Partial<Record<keyof PodExplanation, unknown>>;
  return (
    typeof namespace === 'string' &&
    typeof name === 'string' &&
    [blockers, suggestions, timeline].every((list) => Array.isArray(list))
  );
}
