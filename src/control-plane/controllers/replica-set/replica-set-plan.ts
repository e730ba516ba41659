import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { rankForDeletion } from '../../controller-runtime/deletion-rank.ts';

/** The maximum number of pods created or deleted in one pass (upstream: BurstReplicas). */
const BURST = 500;

export type ReplicaSetPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

/** The pods to rank. They are read only if there are surplus pods. */
export interface PodsToRank {
  /** Returns the active pods. */
  active(): readonly Pod[];
  /** Returns the pods of all replica sets of the same owner, for the deletion order. */
  related(): readonly Pod[];
}

/** Plans the changes to the number of pods. */
export function planReplicas(
  replicaSet: ReplicaSet,
  activeCount: number,
  pods: PodsToRank,
  nowMs: number,
): ReplicaSetPlan {
  const surplus = activeCount - (replicaSet.spec.replicas ?? 1);
  if (surplus === 0 || replicaSet.metadata.deletionTimestamp !== undefined) return { kind: 'nothing' };
  if (surplus < 0) return { kind: 'create', count: Math.min(-surplus, BURST) };
  return {
    kind: 'delete',
    pods: rankForDeletion(pods.active(), pods.related(), nowMs).slice(0, Math.min(surplus, BURST)),
  };
}
