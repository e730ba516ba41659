import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** The arguments of a module's default export: `args` of pluginConfig without `module`. */
export type PluginFactory = (args: Readonly<Record<string, unknown>>, handle: PluginHandle) => ModulePlugin;

export interface PluginHandle {
  /** Writes a line to the log of the scheduler. */
  readonly log: (message: string) => void;
}

/** Success is undefined, a text is a reason of code Unschedulable. */
export type ModuleStatus = undefined | string | { readonly code: StatusCode; readonly reasons?: readonly string[] };
export type StatusCode = 'Success' | 'Unschedulable' | 'UnschedulableAndUnresolvable' | 'Skip' | 'Error';

/** For one pod and one attempt, of this plugin alone. */
export type CycleState = Map<string, unknown>;

export interface ModuleResources {
  readonly milliCPU: number;
  readonly memory: number;
  readonly ephemeralStorage: number;
  readonly scalarResources: Readonly<Record<string, number>>;
}

/** A node with the pods on it, those that are being bound included. To be read only. */
export interface ModuleNodeInfo {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly allocatable: ModuleResources;
  readonly requested: ModuleResources;
}

export interface ModuleQueuedPod {
  readonly pod: Pod;
  /** Milliseconds of a monotonic clock, of the last attempt. */
  readonly timestamp: number;
  readonly attempts: number;
}

/**
 * A plugin from outside this program. Its members are upstream's extension points, all optional. Decisions (up to
 * `score`) are synchronous; the later ones may be async.
 */
export interface ModulePlugin {
  readonly preEnqueue?: (pod: Pod) => ModuleStatus;
  /** queueSort. */
  readonly less?: (left: ModuleQueuedPod, right: ModuleQueuedPod) => boolean;
  readonly preFilter?: (
    state: CycleState,
    pod: Pod,
    nodes: readonly ModuleNodeInfo[],
  ) => ModuleStatus | { readonly nodeNames: readonly string[] };
  readonly filter?: (state: CycleState, pod: Pod, node: ModuleNodeInfo) => ModuleStatus;
  /** The reasons by node name; answers with a node that will have room, or a reason. */
  readonly postFilter?: (
    state: CycleState,
    pod: Pod,
    reasons: ReadonlyMap<string, readonly string[]>,
  ) => ModuleStatus | { readonly nominatedNodeName: string };
  readonly preScore?: (state: CycleState, pod: Pod, nodes: readonly ModuleNodeInfo[]) => ModuleStatus;
  /** 0 to 100, unless `normalizeScore` brings it there. */
  readonly score?: (state: CycleState, pod: Pod, node: ModuleNodeInfo) => number;
  /** Changes `scores` in place. */
  readonly normalizeScore?: (state: CycleState, pod: Pod, scores: { readonly name: string; score: number }[]) => void;
  readonly reserve?: ModuleStep;
  readonly unreserve?: ModuleStep;
  readonly permit?: ModuleStep;
  readonly preBind?: ModuleStep;
  /** Skip leaves the pod to the next binder. */
  readonly bind?: ModuleStep;
  readonly postBind?: ModuleStep;
}

type ModuleStep = (state: CycleState, pod: Pod, nodeName: string) => ModuleStatus | Promise<ModuleStatus>;
