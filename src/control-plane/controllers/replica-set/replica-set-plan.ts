import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { rankForDeletion } from '../../controller-runtime/deletion-rank.ts';

/** So many pods are made or deleted in one pass at most (upstream: BurstReplicas). */
const BURST = 500;

export type ReplicaSetPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

/**
 * What to do about the number of pods. `related` gives the pods of all replica sets of the same owner: who goes first
 * depends on them.
 */
export function planReplicas(
  replicaSet: ReplicaSet,
  active: readonly Pod[],
  related: () => readonly Pod[],
  nowMs: number,
): ReplicaSetPlan {
  const surplus = active.length - (replicaSet.spec.replicas ?? 1);
  if (surplus === 0 || replicaSet.metadata.deletionTimestamp !== undefined) return { kind: 'nothing' };
  if (surplus < 0) return { kind: 'create', count: Math.min(-surplus, BURST) };
  return { kind: 'delete', pods: rankForDeletion(active, related(), nowMs).slice(0, Math.min(surplus, BURST)) };
}
