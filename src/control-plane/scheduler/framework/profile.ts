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
  /** The minimum percentage of nodes that preemption tries. */
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

/** The steps to take if no node fits a pod, in order. */
export type PostFilterStep =
  | { readonly kind: 'dynamicResources' }
  | { readonly kind: 'preemption'; readonly args: PreemptionArgs }
  /** A postFilter of a module. It nominates a node, or returns a reason. */
  | { readonly kind: 'module'; readonly run: ModulePostFilter };

export type ModulePostFilter = (
  pod: PodInfo,
  snapshot: Snapshot,
  rejections: ReadonlyMap<string, Rejection>,
) => { readonly nominate?: string; readonly message?: string };

/** The plugins of one scheduler name. */
export interface Profile {
  readonly schedulerName: string;
  /** The percentage of nodes to score; 0 adapts it to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly preEnqueue: readonly Plugin[];
  readonly filters: readonly Plugin[];
  readonly scores: readonly WeightedPlugin[];
  readonly postFilters: readonly PostFilterStep[];
  /** The steps that bind a pod to its chosen node. */
  readonly binding: BindingSteps;
  /** All plugins by name, for their hints. */
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** The time limit for drivers to fulfil binding conditions. */
  readonly deviceBindingTimeoutMs: number;
  /** The time limit for binding volumes, after which the pod is retried. */
  readonly volumeBindTimeoutMs: number;
}
