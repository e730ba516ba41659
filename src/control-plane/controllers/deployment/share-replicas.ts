import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import {
  compareAge,
  deploymentAnnotations,
  maxSurge,
  sizeOf,
  totalSize,
  wantedReplicas,
  wholeNumber,
} from './deployment-facts.ts';

export interface Share {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/**
 * Distributes added or removed replicas over the active sets in proportion to their sizes; the rounding remainder goes
 * to the largest (upstream: sync.go scale, GetReplicaSetProportion). Among equal sets, newer ones grow first and older
 * ones shrink first.
 */
export function shareReplicas(deployment: Deployment, active: readonly ReplicaSet[]): Share[] {
  const wanted = wantedReplicas(deployment);
  const allowed = wanted > 0 ? wanted + maxSurge(deployment) : 0;
  const toAdd = allowed - totalSize(active);
  const sorted = active.toSorted(
    (left, right) => sizeOf(right) - sizeOf(left) || (toAdd > 0 ? compareAge(right, left) : compareAge(left, right)),
  );
  let added = 0;
  const shares = sorted.map((set) => {
    const share = toAdd === added ? 0 : clampTo(toAdd - added, fractionOf(deployment, set));
    added += share;
    return { set, replicas: sizeOf(set) + share };
  });
  return shares.map((share, index) =>
    index === 0 ? { ...share, replicas: Math.max(0, share.replicas + toAdd - added) } : share,
  );
}

function clampTo(left: number, share: number): number {
  return left > 0 ? Math.min(share, left) : Math.max(share, left);
}

function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const wanted = wantedReplicas(deployment);
  if (wanted === 0) return -sizeOf(set);
  // The maximum size of the deployment when the set was sized; without that annotation, the current size.
  const before =
    wholeNumber(set.metadata.annotations?.[deploymentAnnotations.maxReplicas]) || (deployment.status?.replicas ?? 0);
  if (before === 0) return 0;
  const size = (sizeOf(set) * (wanted + maxSurge(deployment))) / before;
  return Math.floor(size + 0.5) - sizeOf(set);
}
