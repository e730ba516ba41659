import type { BindingSteps } from './binding-plugin.ts';
import type { Plugin } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';
import type { Rejection } from './rejection.ts';
import type { Snapshot } from './snapshot.ts';

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
  | { readonly kind: 'preemption'; readonly args: PreemptionArgs }
  /** Of a module: a node that will have room, or why there is none. */
  | { readonly kind: 'module'; readonly run: ModulePostFilter };

export type ModulePostFilter = (
  pod: PodInfo,
  snapshot: Snapshot,
  rejections: ReadonlyMap<string, Rejection>,
) => { readonly nominate?: string; readonly message?: string };

/** One scheduler by name: which plugins decide for its pods. */
export interface Profile {
  readonly schedulerName: string;
  /** Percent; 0 adapts to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly preEnqueue: readonly Plugin[];
  readonly filters: readonly Plugin[];
  readonly scores: readonly WeightedPlugin[];
  readonly postFilters: readonly PostFilterStep[];
  /** What is done about a pod that was placed. */
  readonly binding: BindingSteps;
  /** All of them once, for their hints. */
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** How long drivers may take to prepare devices with binding conditions. */
  readonly deviceBindingTimeoutMs: number;
  /** How long binding of volumes may take before the pod is retried. */
  readonly volumeBindTimeoutMs: number;
}
