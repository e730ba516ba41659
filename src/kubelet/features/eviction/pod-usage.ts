import type { Pod } from '../../../api/core/pod.ts';
import type { GroupUse, MemoryUse } from '../../ports/stats.ts';
import type { DiskLayout } from './disk-layout.ts';
import { diskPartsOf } from './disk-layout.ts';
import type { ContainerUsage } from './eviction-message.ts';
import type { EvictionSignal } from './signals.ts';
import { signalFacts } from './signals.ts';

/** The running parts of a pod, with the paths of their cgroups. */
export interface RunningPod {
  readonly uid: string;
  /** The cgroup path. It is undefined if pods have no cgroups of their own. */
  readonly path: string | undefined;
  readonly containers: readonly { readonly name: string; readonly path: string }[];
}

export interface TreeAmount {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** The disk usage of a pod, by container and by volume. */
export interface PodDiskUse {
  readonly layers: ReadonlyMap<string, TreeAmount>;
  readonly logs: ReadonlyMap<string, TreeAmount>;
  /** The volumes on the node's own disks or in its memory. */
  readonly volumes: ReadonlyMap<string, TreeAmount>;
  /** Everything that counts against the pod's ephemeral storage, including its hosts file and termination messages. */
  readonly total: TreeAmount;
}

export interface PodUsageParts {
  readonly runningPods: () => readonly RunningPod[];
  readonly groups: {
    memory(path: string): Pick<MemoryUse, 'workingSetBytes'> | undefined;
    use(path: string, depth: 'all'): Pick<GroupUse, 'threads'> | undefined;
  };
  /** Measures the disk use of these pods now. */
  readonly diskUse: (uids: ReadonlySet<string>) => Promise<ReadonlyMap<string, PodDiskUse>>;
}

/** The usage of the pods at one moment. Cgroups are read on demand: a ranking for memory reads one cgroup per pod. */
export class PodUsage {
  readonly layout: DiskLayout;
  readonly #groups: PodUsageParts['groups'];
  readonly #running: ReadonlyMap<string, RunningPod>;
  readonly #disks: ReadonlyMap<string, PodDiskUse>;

  private constructor(parts: PodUsageParts, layout: DiskLayout, disks: ReadonlyMap<string, PodDiskUse>) {
    this.layout = layout;
    this.#groups = parts.groups;
    this.#running = new Map(parts.runningPods().map((pod) => [pod.uid, pod]));
    this.#disks = disks;
  }

  /** Creates the usage without disks, which suffices for memory and processes. */
  static ofGroups(parts: PodUsageParts): PodUsage {
    return new PodUsage(parts, 'shared', new Map());
  }

  static async withDisks(parts: PodUsageParts, layout: DiskLayout, pods: readonly Pod[]): Promise<PodUsage> {
    return new PodUsage(parts, layout, await parts.diskUse(new Set(pods.map(({ metadata }) => metadata.uid))));
  }

  /** Creates the usage with disk usage that was measured before. */
  static ofLast(parts: PodUsageParts, layout: DiskLayout, disks: ReadonlyMap<string, PodDiskUse>): PodUsage {
    return new PodUsage(parts, layout, disks);
  }

  /** Returns the usage of the signal's resource, or undefined for a pod that was not measured. */
  of(pod: Pod, signal: EvictionSignal): number | undefined {
    switch (signalFacts[signal].resource) {
      case 'memory':
        return this.memoryBytes(pod);
      case 'pids':
        return this.#sum(pod, (path) => this.#groups.use(path, 'all')?.threads?.current);
      case 'ephemeral-storage':
        return this.#diskSum(pod, signal, ({ usedBytes }) => usedBytes);
      case 'inodes':
        return this.#diskSum(pod, signal, ({ inodesUsed }) => inodesUsed);
    }
  }

  /** Returns the working set, without page cache that can be reclaimed. */
  memoryBytes(pod: Pod): number | undefined {
    return this.#sum(pod, (path) => this.#groups.memory(path)?.workingSetBytes);
  }

  disk(pod: Pod): PodDiskUse | undefined {
    return this.#disks.get(pod.metadata.uid);
  }

  containers(pod: Pod): ContainerUsage[] {
    const disk = this.disk(pod);
    return (this.#running.get(pod.metadata.uid)?.containers ?? []).map(({ name, path }) => ({
      name,
      memoryBytes: this.#groups.memory(path)?.workingSetBytes,
      diskBytes:
        disk === undefined
          ? undefined
          : (disk.layers.get(name)?.usedBytes ?? 0) + (disk.logs.get(name)?.usedBytes ?? 0),
    }));
  }

  #sum(pod: Pod, amount: (path: string) => number | undefined): number | undefined {
    const running = this.#running.get(pod.metadata.uid);
    if (running === undefined) return undefined;
    const paths = running.path === undefined ? running.containers.map(({ path }) => path) : [running.path];
    const amounts = paths.map(amount);
    const known = amounts.filter((each) => each !== undefined);
    return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
  }

  #diskSum(pod: Pod, signal: EvictionSignal, amount: (tree: TreeAmount) => number): number | undefined {
    const use = this.disk(pod);
    if (use === undefined) return undefined;
    const parts = diskPartsOf(signal, this.layout);
    const trees = [
      ...(parts.layers ? use.layers.values() : []),
      ...(parts.logs ? use.logs.values() : []),
      ...(parts.volumes ? use.volumes.values() : []),
    ];
    return trees.reduce((sum, tree) => sum + amount(tree), 0);
  }
}
