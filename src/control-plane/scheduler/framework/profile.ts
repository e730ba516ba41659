import type { Plugin } from './plugin.ts';

export interface WeightedPlugin {
  readonly plugin: Plugin;
  readonly weight: number;
}

/** The arguments of preemption. */
export interface PreemptionArgs {
  /** At least this share of the nodes is tried. */
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

/** The steps after a pod found no node, in order. */
export type PostFilterStep =
  | { readonly kind: 'dynamicResources' }
  | { readonly kind: 'preemption'; readonly args: PreemptionArgs };

/** One scheduler by name: which plugins decide for its pods. */
export interface Profile {
  readonly schedulerName: string;
  /** Percent; 0 adapts to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly preEnqueue: readonly Plugin[];
  readonly filters: readonly Plugin[];
  readonly scores: readonly WeightedPlugin[];
  readonly postFilters: readonly PostFilterStep[];
  /** All of them once, for their hints. */
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** How long binding of volumes may take before the pod is retried. */
  /** How long drivers may take to prepare devices with binding conditions. */
  readonly deviceBindingTimeoutMs: number;
  readonly volumeBindTimeoutMs: number;
}
