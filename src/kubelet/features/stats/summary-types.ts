// The response of /stats/summary, as in upstream (k8s.io/kubelet/pkg/apis/stats/v1alpha1). Times are RFC 3339.
import type { Pressure } from '../../ports/stats.ts';

export interface PsiData {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}

export interface CpuStats {
  readonly time: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PsiStats;
}

export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PsiStats;
}

export interface IoStats {
  readonly time: string;
  readonly psi?: PsiStats;
}

export interface SwapStats {
  readonly time: string;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

export type NetworkStats = Partial<InterfaceStats> & { time: string; interfaces?: readonly InterfaceStats[] };

export interface FsStatsJson {
  readonly time: string;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export type VolumeStats = FsStatsJson & {
  name?: string;
  pvcRef?: { name: string; namespace: string };
  volumeHealthStats?: { abnormal: boolean };
};

export interface ContainerStats {
  readonly name: string;
  readonly startTime: string | null;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly rootfs?: FsStatsJson;
  readonly logs?: FsStatsJson;
  readonly swap?: SwapStats;
}

export interface PodStats {
  readonly podRef: { name: string; namespace: string; uid: string };
  readonly startTime: string | null;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly volume?: readonly VolumeStats[];
  readonly 'ephemeral-storage'?: FsStatsJson;
  readonly process_stats?: { process_count: number };
  readonly swap?: SwapStats;
}

export interface NodeStats {
  readonly nodeName: string;
  readonly systemContainers?: readonly ContainerStats[];
  readonly startTime: string | null;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly fs?: FsStatsJson;
  readonly runtime?: { imageFs?: FsStatsJson; containerFs?: FsStatsJson };
  readonly rlimit?: { time: string; maxpid?: number; curproc?: number };
  readonly swap?: SwapStats;
}

export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

/** Formats a time in whole seconds, as Go does; null for an unknown time. */
export function timeJson(ms: number | undefined): string | null {
  return ms === undefined || ms <= 0 ? null : knownTime(ms);
}

export function knownTime(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * Returns the pressure. If the kernel does not measure it, as for groups of cgroup v1, the values are zero (upstream:
 * stats/helper.go cadvisorPSIToStatsPSI).
 */
export function psiJson(pressure: Pressure | undefined): PsiStats {
  const data = (line: Pressure['full'] | undefined): PsiData => ({
    total: line?.totalUs ?? 0,
    avg10: line?.avg10 ?? 0,
    avg60: line?.avg60 ?? 0,
    avg300: line?.avg300 ?? 0,
  });
  return { full: data(pressure?.full), some: data(pressure?.some) };
}
