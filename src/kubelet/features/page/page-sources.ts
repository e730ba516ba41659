import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import type { ManagersView } from './compute-managers.ts';
import type { EvictionReport } from '../../model/eviction-report.ts';
import type { EvictionConfig } from '../../model/config/kubelet-config.ts';
import type { FsUse, GroupUse, InterfaceUse, MachineIdentity, TreeUse } from '../../ports/stats.ts';

/** A reading of one cgroup. */
export interface PageGroupSample {
  readonly use: GroupUse;
  /** The CPU rate; undefined until there were two readings with enough time between them. */
  readonly usageNanoCores: number | undefined;
}

export interface PageMeasuredPod {
  readonly uid: string;
}

/** A pod with the readings of its cgroups. */
export interface PageSampledPod {
  readonly pod: PageMeasuredPod;
  /** The reading of the pod's cgroup; undefined if pods have no cgroups of their own. */
  readonly group: PageGroupSample | undefined;
  readonly containers: readonly {
    readonly container: { readonly name: string; readonly id: string };
    readonly sample: PageGroupSample;
  }[];
  readonly interfaces: readonly InterfaceUse[] | undefined;
}

/** The statistics of the agent. `Measured` is the agent's description of a running pod. */
export interface PageStats<Measured extends PageMeasuredPod = PageMeasuredPod> {
  measuredPods(): readonly Measured[];
  /** Reads every cgroup of these pods, some at a time. */
  sample(pods: readonly Measured[], depth: 'all'): Promise<readonly PageSampledPod[]>;
  look(path: string, depth: 'all'): PageGroupSample | undefined;
}

/** The disk figures, which are measured in the background. */
export interface PageDisks<Measured extends PageMeasuredPod = PageMeasuredPod> {
  /** Starts the measurements that are due. */
  ask(pods: readonly Measured[]): Promise<void>;
  readonly rootFs: FsUse | undefined;
  readonly imageFs: { readonly fs: FsUse; readonly used: TreeUse } | undefined;
  /** The writable layers by container id. */
  readonly layers: ReadonlyMap<string, TreeUse>;
  readonly pods: ReadonlyMap<string, { readonly logs: ReadonlyMap<string, TreeUse> }>;
  readonly volumes: ReadonlyMap<
    string,
    readonly { readonly volume: { readonly ephemeral: boolean }; readonly usage: { readonly usedBytes?: number } }[]
  >;
}

/** The sources of the page, as small interfaces. The compose files pass the parts of the agent. */
export interface PageSources<Measured extends PageMeasuredPod = PageMeasuredPod> {
  /** The statistics; undefined if nothing is measured. */
  readonly stats: PageStats<Measured> | undefined;
  readonly disks: PageDisks<Measured> | undefined;
  readonly machine: MachineIdentity | undefined;
  readonly tasks: () => { readonly current: number; readonly limit: number } | undefined;
  readonly interfaces: () => readonly InterfaceUse[];
  readonly nodeName: string;
  readonly kubeletVersion: string;
  readonly eviction: Pick<EvictionConfig, 'hard' | 'soft' | 'softGraceMs'>;
  /** Returns the node object; undefined on a standalone node. */
  readonly node: () => Node | undefined;
  /** Returns the pods with their latest statuses. */
  readonly pods: () => readonly Pod[];
  readonly explain: (pod: Pod) => PodExplanation;
  /** Calls `onChange` when a pod changed. Returns a function that unsubscribes. */
  readonly watch: (onChange: () => void) => () => void;
  /** Returns the reasons why no pod is started or changed. */
  readonly problems: () => readonly { readonly message: string }[];
  /** Returns what would be evicted, from new readings. Rejects if nothing can be measured. */
  readonly evictionReport: () => Promise<EvictionReport>;
  readonly managersView: ManagersView;
}
