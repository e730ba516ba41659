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

/** The best a plugin can say of a node. */
export const MAX_NODE_SCORE = 100;

/** What has to be done about volumes before a pod is bound to the node that was chosen. */
export interface VolumePlan {
  /** Existing volumes to be bound to claims. */
  readonly bindings: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** Claims for which a provisioner has to make a volume that the node reaches. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

/** Resource claims to be allocated (without `allocation`: only reserved for the pod) before the pod is bound. */
export type ClaimPlan = readonly {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult | undefined;
  /** The claim is to be created, for these extended resources of the pod. */
  readonly creates?: readonly ContainerExtendedResourceRequest[];
}[];

/**
 * One plugin's question about one pod, asked of node after node. What does not depend on the node has been worked out.
 */
export interface PodCheck {
  filter(node: NodeInfo): Rejection | undefined;
  /**
   * Takes account of another pod that is thought to be on the node or gone from it, in a dry run. Absent: other pods do
   * not matter beyond what `NodeInfo` tells.
   */
  readonly others?: {
    added(other: PodInfo, node: NodeInfo): void;
    removed(other: PodInfo, node: NodeInfo): void;
    /** A check on which `added` and `removed` do not touch this one. */
    clone(): PodCheck;
  };
  /** For a node that `filter` let pass. */
  volumePlan?(node: NodeInfo): VolumePlan | undefined;
  /** After no node was found: an allocated claim that keeps the pod from nodes, and that no other pod uses. */
  obstacle?(): { readonly claim: ResourceClaim | undefined };
  /** For a node that `filter` let pass. */
  claimPlan?(node: NodeInfo): ClaimPlan;
}

export type PreFilterResult =
  /** The pod does not concern the plugin: it is not asked about nodes. */
  | { readonly kind: 'skip' }
  /** No node will do. */
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  /** With `nodeNames`, only these come into question. */
  | { readonly kind: 'check'; readonly check: PodCheck; readonly nodeNames?: ReadonlySet<string> };

/** One plugin's judgement of nodes for one pod. */
export interface PodScorer {
  score(node: NodeInfo): number;
  /** Brings the scores of all nodes into [0, 100], in place; absent: they are there already. */
  normalize?(scores: number[], nodes: readonly NodeInfo[]): void;
}

/**
 * A plugin of the scheduling framework: pure, one object for each profile. What upstream's Reserve, PreBind and Bind do
 * is done by executors.
 */
export interface Plugin {
  readonly name: string;
  readonly hints?: Hints;
  /** Keeps the pod out of the queue altogether. */
  preEnqueue?(pod: Pod): Rejection | undefined;
  preFilter?(pod: PodInfo, snapshot: Snapshot): PreFilterResult;
  /** Undefined: the pod does not concern the plugin. */
  preScore?(pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]): PodScorer | undefined;
}

export const skip: PreFilterResult = { kind: 'skip' };
export const reject = (rejection: Rejection): PreFilterResult => ({ kind: 'rejected', rejection });
export const checkWith = (filter: PodCheck['filter']): PreFilterResult => ({ kind: 'check', check: { filter } });

/** Scales to [0, 100] by the largest score; `reverse` makes few the best (upstream: helper.DefaultNormalizeScore). */
export function normalizeByMax(scores: number[], reverse: boolean): void {
  const max = scores.reduce((largest, score) => Math.max(largest, score), 0);
  for (const [index, score] of scores.entries()) {
    const scaled = max === 0 ? 0 : Math.trunc((MAX_NODE_SCORE * score) / max);
    scores[index] = reverse ? MAX_NODE_SCORE - scaled : scaled;
  }
}
