// What the controllers did to one Deployment, as the store saw it, checked for actions that were taken twice.
import type { ReplicaSet } from '../../../src/api/apps/replica-set.ts';
import type { Pod } from '../../../src/api/core/pod.ts';

/** One write in the store. Deleted objects are absent. */
export interface StoredChange {
  readonly key: string;
  readonly revision: number;
  readonly pod?: Pod;
  readonly set?: ReplicaSet;
}

/**
 * 1. A ReplicaSet never has more pods than the largest number that it has requested: a controller only creates missing
 *    pods, and waits until it sees what it has created. Two active controllers, or one that starts with an old state,
 *    would create pods twice.
 * 2. All sets together never request more than `limit` pods, the replicas of the Deployment and its surge.
 *
 * The number of pods of all sets has no such limit: sets are processed independently, so a new set may create its pod
 * before an old one has deleted its own (upstream: NewRSNewReplicas counts what the sets ask for).
 */
export function findSurplus(changes: readonly StoredChange[], limit: number): readonly string[] {
  const faults: string[] = [];
  const sets = new Map<string, ReplicaSet>();
  const most = new Map<string, number>();
  const owners = new Map<string, string>();
  for (const { key, revision, pod, set } of changes) {
    if (set !== undefined) {
      const { name } = set.metadata;
      sets.set(key, set);
      most.set(name, Math.max(most.get(name) ?? 0, set.spec.replicas ?? 1));
      const asked = [...sets.values()].reduce((sum, { spec }) => sum + (spec.replicas ?? 1), 0);
      if (asked > limit) faults.push(`at ${revision} the sets ask for ${asked} pods`);
    } else sets.delete(key);
    const owner = pod?.metadata.ownerReferences?.[0]?.name ?? '';
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
      owners.delete(key);
      continue;
    }
    const isNew = !owners.has(key);
    owners.set(key, owner);
    const count = [...owners.values()].filter((each) => each === owner).length;
    if (isNew && count > (most.get(owner) ?? 0))
      faults.push(`at ${revision} ${owner} has ${count} pods, and never asked for more than ${most.get(owner) ?? 0}`);
  }
  return faults;
}
