import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { isPodActive, isPodReady, isPodTerminating, readySinceMs } from '../../controller-runtime/pod-facts.ts';

/** The counts of a set's pods that its status and its plan need. */
export interface ReplicaCounts {
  /** The active and selected pods. */
  readonly active: number;
  readonly ready: number;
  readonly available: number;
  /** The active pods with all labels of the template. */
  readonly fullyLabeled: number;
  /** The selected pods that are terminating and have not ended. */
  readonly terminating: number;
  /** The active pods that are no longer selected and must be released. */
  readonly strays: number;
  /** The milliseconds until the next ready pod becomes available. */
  readonly nextAvailableMs: number | undefined;
}

/** The contribution of one pod to the counts of its set. */
export type PodMembership =
  | { readonly kind: 'stray' | 'terminating' | 'none' }
  | {
      readonly kind: 'active';
      readonly fullyLabeled: boolean;
      readonly ready: boolean;
      /** The wall time from which on it is available; -Infinity means always, undefined never. */
      readonly availableFromMs: number | undefined;
    };

/**
 * Computes the contribution of a pod. It does not depend on the time, so it changes only with the pod and the set's
 * spec.
 */
export function membershipOf({ spec }: ReplicaSet, pod: Pod): PodMembership {
  const labels = pod.metadata.labels ?? {};
  const isSelected = matchesLabelSelector(spec.selector, labels);
  if (!isPodActive(pod)) return { kind: isSelected && isPodTerminating(pod) ? 'terminating' : 'none' };
  if (!isSelected) return { kind: 'stray' };
  const wanted = spec.template.metadata.labels ?? {};
  const { minReadySeconds = 0 } = spec;
  const ready = isPodReady(pod);
  const sinceMs = ready && minReadySeconds > 0 ? readySinceMs(pod) : undefined;
  return {
    kind: 'active',
    fullyLabeled: Object.keys(wanted).every((key) => Object.hasOwn(labels, key) && labels[key] === wanted[key]),
    ready,
    availableFromMs: !ready
      ? undefined
      : minReadySeconds === 0
        ? -Infinity
        : sinceMs === undefined
          ? undefined
          : sinceMs + minReadySeconds * 1000,
  };
}

/** Counts all pods. `pods` are those that the set controls. */
export function countReplicas(replicaSet: ReplicaSet, pods: readonly Pod[], nowMs: number): ReplicaCounts {
  const counts = { active: 0, ready: 0, available: 0, fullyLabeled: 0, terminating: 0, strays: 0 };
  let nextMs = Infinity;
  for (const pod of pods) {
    const membership = membershipOf(replicaSet, pod);
    if (membership.kind === 'stray') counts.strays++;
    else if (membership.kind === 'terminating') counts.terminating++;
    else if (membership.kind === 'active') {
      const { fullyLabeled, ready, availableFromMs } = membership;
      counts.active++;
      if (fullyLabeled) counts.fullyLabeled++;
      if (ready) counts.ready++;
      if (availableFromMs === undefined) continue;
      if (availableFromMs <= nowMs) counts.available++;
      else nextMs = Math.min(nextMs, availableFromMs);
    }
  }
  return { ...counts, nextAvailableMs: nextMs === Infinity ? undefined : nextMs - nowMs };
}
