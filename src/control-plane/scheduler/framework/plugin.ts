import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerExtendedResourceRequest } from '../../../api/core/pod-status.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Hints } from './cluster-event.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import type { Rejection } from './rejection.ts';
import type { Snapshot } from './snapshot.ts';

/** The maximum score of a node. */
export const MAX_NODE_SCORE = 100;

/** The volume changes that are needed before a pod is bound to the chosen node. */
export interface VolumePlan {
  /** The existing volumes to bind to claims. */
  readonly bindings: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** The claims for which a provisioner must create a volume that the node can access. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

/**
 * The resource claims to allocate before the pod is bound. A claim without `allocation` is only reserved for the pod.
 */
export type ClaimPlan = readonly {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult | undefined;
  /** Set if the claim must be created, for these extended resources of the pod. */
  readonly creates?: readonly ContainerExtendedResourceRequest[];
}[];

/**
 * The check of one plugin for one pod, run for each node. preFilter has already computed what does not depend on the
 * node.
 */
export interface PodCheck {
  filter(node: NodeInfo): Rejection | undefined;
  /**
   * Simulates that another pod is added to the node or removed from it. It is absent if the check reads other pods only
   * from `NodeInfo`.
   */
  readonly others?: {
    added(other: PodInfo, node: NodeInfo): void;
    removed(other: PodInfo, node: NodeInfo): void;
    /** Copies the check. `added` and `removed` on the copy do not affect the original. */
    clone(): PodCheck;
  };
  /** Plans the volumes for a node that passed `filter`. */
  volumePlan?(node: NodeInfo): VolumePlan | undefined;
  /**
   * Returns an allocated claim that excludes all nodes and that no other pod uses. It is called after no node was
   * found.
   */
  obstacle?(): { readonly claim: ResourceClaim | undefined };
  /** Plans the resource claims for a node that passed `filter`. */
  claimPlan?(node: NodeInfo): ClaimPlan;
}

export type PreFilterResult =
  /** The plugin does not apply to the pod, so nodes are not checked. */
  | { readonly kind: 'skip' }
  /** No node fits. */
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  /** With `nodeNames`, only these nodes are checked. */
  | { readonly kind: 'check'; readonly check: PodCheck; readonly nodeNames?: ReadonlySet<string> };

/** The scorer of one plugin for one pod. */
export interface PodScorer {
  score(node: NodeInfo): number;
  /** Scales the scores of all nodes to [0, 100], in place. It is absent if the scores are in that range already. */
  normalize?(scores: number[], nodes: readonly NodeInfo[]): void;
}

/**
 * A plugin of the scheduling framework. It is pure, and each profile has its own object. Executors implement upstream's
 * Reserve, PreBind and Bind.
 */
export interface Plugin {
  readonly name: string;
  readonly hints?: Hints;
  /** Rejects a pod before it enters the queue. */
  preEnqueue?(pod: Pod): Rejection | undefined;
  preFilter?(pod: PodInfo, snapshot: Snapshot): PreFilterResult;
  /** Returns undefined if the plugin does not apply to the pod. */
  preScore?(pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]): PodScorer | undefined;
}

export const skip: PreFilterResult = { kind: 'skip' };
export const reject = (rejection: Rejection): PreFilterResult => ({ kind: 'rejected', rejection });
export const checkWith = (filter: PodCheck['filter']): PreFilterResult => ({ kind: 'check', check: { filter } });

/**
 * Scales the scores to [0, 100] by the largest one. With `reverse`, small scores become the best (upstream:
 * helper.DefaultNormalizeScore).
 */
export function normalizeByMax(scores: number[], reverse: boolean): void {
  const max = scores.reduce((largest, score) => Math.max(largest, score), 0);
  for (const [index, score] of scores.entries()) {
    const scaled = max === 0 ? 0 : Math.trunc((MAX_NODE_SCORE * score) / max);
    scores[index] = reverse ? MAX_NODE_SCORE - scaled : scaled;
  }
}
