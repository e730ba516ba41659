import type { FsUse, GroupUse, InterfaceUse, Pressure } from '../../ports/stats.ts';
import { computeRates, countersOf } from './compute-rates.ts';
import type { Counters } from './compute-rates.ts';
import type { PageDisks, PageGroupSample, PageSampledPod } from './page-sources.ts';
import type { PageDiskUse, PagePressure, PageUsage, PageUse } from './page-state.ts';

export interface UsageFacts {
  readonly atMs: number;
  readonly root: PageGroupSample | undefined;
  readonly interfaces: readonly InterfaceUse[];
  readonly tasks: { readonly current: number; readonly limit: number } | undefined;
  readonly pods: readonly PageSampledPod[];
  readonly disks: Omit<PageDisks, 'ask'> | undefined;
}

/** The counters of the previous sample, by `node`, the pod's UID, or UID and container. */
export type CounterRecord = ReadonlyMap<string, Counters>;

/** Computes the figures of one sample, and the counters from which the next one computes its rates. */
export function computePageUsage(
  facts: UsageFacts,
  before: CounterRecord,
): { readonly usage: PageUsage; readonly counters: CounterRecord } {
  const counters = new Map<string, Counters>();
  const useOf = (
    key: string,
    sample: PageGroupSample | undefined,
    interfaces: readonly InterfaceUse[] | undefined,
  ): PageUse => {
    const now = countersOf(sample?.use, interfaces, facts.atMs);
    counters.set(key, now);
    return { ...groupUse(sample), ...computeRates(before.get(key), now) };
  };
  const { disks, tasks } = facts;
  const usage: PageUsage = {
    atMs: facts.atMs,
    node: {
      ...useOf('node', facts.root, facts.interfaces),
      ...(disks?.rootFs !== undefined && { rootFs: diskOf(disks.rootFs) }),
      ...(disks?.imageFs !== undefined && {
        imageFs: { ...diskOf(disks.imageFs.fs), imagesBytes: disks.imageFs.used.usedBytes },
      }),
      ...(tasks !== undefined && {
        tasks: { current: tasks.current, ...(tasks.limit !== Infinity && { limit: tasks.limit }) },
      }),
    },
    pods: facts.pods.map((sampled) => {
      const { uid } = sampled.pod;
      const containers = sampled.containers.map(({ container: { name, id }, sample }) => ({
        name,
        ...useOf(`${uid}/${name}`, sample, undefined),
        ...known('diskBytes', containerDisk(disks, uid, name, id)),
      }));
      return {
        uid,
        ...useOf(uid, sampled.group, sampled.interfaces),
        ...(sampled.group === undefined && sumOf(containers)),
        ...known('diskBytes', podDisk(disks, sampled)),
        containers,
      };
    }),
  };
  return { usage, counters };
}

function groupUse(sample: PageGroupSample | undefined): PageUse {
  if (sample === undefined) return {};
  const { use, usageNanoCores } = sample;
  return {
    ...(usageNanoCores !== undefined && { cpuMillis: Math.round(usageNanoCores / 1e5) / 10 }),
    memoryBytes: use.memory.workingSetBytes,
    ...known('pressure', pressureOf(use)),
  };
}

function pressureOf({ cpu, memory, io }: GroupUse): PagePressure | undefined {
  const pressure = {
    ...known('cpu', someOf(cpu.pressure)),
    ...known('memory', someOf(memory.pressure)),
    ...known('io', someOf(io?.pressure)),
  };
  return Object.keys(pressure).length === 0 ? undefined : pressure;
}

const someOf = (pressure: Pressure | undefined): number | undefined => pressure?.some.avg10;

/** Sums up the containers of a pod that has no cgroup of its own. */
function sumOf(containers: readonly PageUse[]): PageUse {
  const sum = (which: 'cpuMillis' | 'memoryBytes'): number | undefined =>
    containers.some((container) => container[which] === undefined)
      ? undefined
      : containers.reduce((total, container) => total + (container[which] ?? 0), 0);
  return { ...known('cpuMillis', sum('cpuMillis')), ...known('memoryBytes', sum('memoryBytes')) };
}

function containerDisk(disks: UsageFacts['disks'], uid: string, name: string, id: string): number | undefined {
  const layer = disks?.layers.get(id)?.usedBytes;
  const logs = disks?.pods.get(uid)?.logs.get(name)?.usedBytes;
  return layer === undefined && logs === undefined ? undefined : (layer ?? 0) + (logs ?? 0);
}

/** Sums up what counts as ephemeral storage: writable layers, logs, and volumes on the node's own disks. */
function podDisk(disks: UsageFacts['disks'], { pod, containers }: PageSampledPod): number | undefined {
  const own = containers.map(({ container: { name, id } }) => containerDisk(disks, pod.uid, name, id));
  const volumes = (disks?.volumes.get(pod.uid) ?? []).flatMap(({ volume, usage }) =>
    volume.ephemeral ? [usage.usedBytes] : [],
  );
  const all = [...own, ...volumes].filter((bytes) => bytes !== undefined);
  return all.length === 0 ? undefined : all.reduce((sum, bytes) => sum + bytes, 0);
}

const diskOf = ({ capacityBytes, availableBytes, inodes, inodesFree }: FsUse): PageDiskUse => ({
  capacityBytes,
  availableBytes,
  inodes,
  inodesFree,
});

const known = <Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> =>
  (value === undefined ? {} : { [name]: value }) as Partial<Record<Name, Value>>;
