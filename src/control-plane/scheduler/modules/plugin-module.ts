import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** Creates the plugin: the default export of a module. It receives `args` of pluginConfig without `module`. */
export type PluginFactory = (args: Readonly<Record<string, unknown>>, handle: PluginHandle) => ModulePlugin;

export interface PluginHandle {
  /** Writes a line to the log of the scheduler. */
  readonly log: (message: string) => void;
}

/** The result of a step. Undefined is success, and a text is a reason with code Unschedulable. */
export type ModuleStatus = undefined | string | { readonly code: StatusCode; readonly reasons?: readonly string[] };
export type StatusCode = 'Success' | 'Unschedulable' | 'UnschedulableAndUnresolvable' | 'Skip' | 'Error';

/** The state of one plugin during one attempt of one pod. */
export type CycleState = Map<string, unknown>;

export interface ModuleResources {
  readonly milliCPU: number;
  readonly memory: number;
  readonly ephemeralStorage: number;
  readonly scalarResources: Readonly<Record<string, number>>;
}

/** A node with its pods, including those being bound. Modules must not change it. */
export interface ModuleNodeInfo {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly allocatable: ModuleResources;
  readonly requested: ModuleResources;
}

export interface ModuleQueuedPod {
  readonly pod: Pod;
  /** The time of the last attempt, in milliseconds of a monotonic clock. */
  readonly timestamp: number;
  readonly attempts: number;
}

/**
 * A plugin from a module outside this program. Its members are upstream's extension points, and all are optional.
 * Decisions (up to `score`) are synchronous; later steps may be asynchronous.
 */
export interface ModulePlugin {
  readonly preEnqueue?: (pod: Pod) => ModuleStatus;
  /** Upstream's QueueSort. */
  readonly less?: (left: ModuleQueuedPod, right: ModuleQueuedPod) => boolean;
  readonly preFilter?: (
    state: CycleState,
    pod: Pod,
    nodes: readonly ModuleNodeInfo[],
  ) => ModuleStatus | { readonly nodeNames: readonly string[] };
  readonly filter?: (state: CycleState, pod: Pod, node: ModuleNodeInfo) => ModuleStatus;
  /** Receives the rejections by node name. Returns a node that will fit, or a reason. */
  readonly postFilter?: (
    state: CycleState,
    pod: Pod,
    reasons: ReadonlyMap<string, readonly string[]>,
  ) => ModuleStatus | { readonly nominatedNodeName: string };
  readonly preScore?: (state: CycleState, pod: Pod, nodes: readonly ModuleNodeInfo[]) => ModuleStatus;
  /** Returns a score of 0 to 100, or any score that `normalizeScore` brings into this range. */
  readonly score?: (state: CycleState, pod: Pod, node: ModuleNodeInfo) => number;
  /** Changes `scores` in place. */
  readonly normalizeScore?: (state: CycleState, pod: Pod, scores: { readonly name: string; score: number }[]) => void;
  readonly reserve?: ModuleStep;
  readonly unreserve?: ModuleStep;
  readonly permit?: ModuleStep;
  readonly preBind?: ModuleStep;
  /** Binds the pod. The status Skip passes the pod to the next binder. */
  readonly bind?: ModuleStep;
  readonly postBind?: ModuleStep;
}

type ModuleStep = (state: CycleState, pod: Pod, nodeName: string) => ModuleStatus | Promise<ModuleStatus>;
