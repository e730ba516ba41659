import type { FsUse, InterfaceUse, StatsDepth, TreeUse } from '../../ports/stats.ts';
import type { GroupSample } from './group-samples.ts';
import type { ContainerStats, FsStatsJson, IoStats, NetworkStats } from './summary-types.ts';
import { knownTime, psiJson } from './summary-types.ts';

export type GroupJson = Required<Pick<ContainerStats, 'cpu' | 'memory' | 'swap'>> & { io?: IoStats };

/** Returns CPU, memory, swap and I/O pressure of a group (upstream: stats/helper.go). */
export function groupJson({ use, limits, usageNanoCores }: GroupSample, depth: StatsDepth): GroupJson {
  const time = knownTime(use.atMs);
  const { cpu, memory } = use;
  return {
    cpu: { time, usageNanoCores: usageNanoCores ?? 0, usageCoreNanoSeconds: cpu.usageNs, psi: psiJson(cpu.pressure) },
    memory: {
      time,
      ...(limits.memoryBytes !== Infinity && {
        availableBytes: Math.max(0, limits.memoryBytes - memory.workingSetBytes),
      }),
      usageBytes: memory.usageBytes,
      workingSetBytes: memory.workingSetBytes,
      rssBytes: memory.rssBytes,
      pageFaults: memory.pageFaults,
      majorPageFaults: memory.majorPageFaults,
      psi: psiJson(memory.pressure),
    },
    ...(depth !== 'cpuAndMemory' && use.io !== undefined && { io: { time, psi: psiJson(use.io.pressure) } }),
    swap: {
      time,
      ...(limits.memorySwapBytes !== Infinity && {
        swapAvailableBytes: Math.max(0, limits.memorySwapBytes - memory.swapBytes),
      }),
      swapUsageBytes: memory.swapBytes,
    },
  };
}

/** The interface whose counters represent the whole pod. */
const DEFAULT_INTERFACE = 'eth0';

export function networkJson(interfaces: readonly InterfaceUse[], atMs: number): NetworkStats | undefined {
  if (interfaces.length === 0) return undefined;
  const all = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const main = all.find(({ name }) => name === DEFAULT_INTERFACE);
  return { time: knownTime(atMs), ...(main ?? { name: '' }), interfaces: all };
}

/** Returns a file system with the usage of one user or, without `used`, of all users. */
export function fsJson(fs: FsUse, used?: Partial<TreeUse>): FsStatsJson {
  return {
    time: knownTime(Math.max(fs.atMs, used?.atMs ?? 0)),
    availableBytes: fs.availableBytes,
    capacityBytes: fs.capacityBytes,
    usedBytes: used === undefined ? fs.capacityBytes - fs.freeBytes : (used.usedBytes ?? 0),
    inodesFree: fs.inodesFree,
    inodes: fs.inodes,
    inodesUsed: used === undefined ? fs.inodes - fs.inodesFree : (used.inodesUsed ?? 0),
  };
}

export function sumOfTrees(...trees: readonly (TreeUse | undefined)[]): TreeUse {
  return trees.reduce<TreeUse>(
    (sum, tree) =>
      tree === undefined
        ? sum
        : {
            atMs: Math.max(sum.atMs, tree.atMs),
            usedBytes: sum.usedBytes + tree.usedBytes,
            inodesUsed: sum.inodesUsed + tree.inodesUsed,
          },
    { atMs: 0, usedBytes: 0, inodesUsed: 0 },
  );
}
