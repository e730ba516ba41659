// The response of /stats/summary, as in upstream (k8s.io/kubelet/pkg/apis/stats/v1alpha1). Times are RFC 3339.
import type { Pressure } from '../../ports/stats.ts';

export interface PsiData {
  total: number;
  avg10: number;
  avg60: number;
  avg300: number;
}

export interface PsiStats {
  full: PsiData;
  some: PsiData;
}

export interface CpuStats {
  time: string;
  usageNanoCores?: number;
  usageCoreNanoSeconds?: number;
  psi?: PsiStats;
}

export interface MemoryStats {
  time: string;
  availableBytes?: number;
  usageBytes?: number;
  workingSetBytes?: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  psi?: PsiStats;
}

export interface IoStats {
  time: string;
  psi?: PsiStats;
}

export interface SwapStats {
  time: string;
  swapAvailableBytes?: number;
  swapUsageBytes?: number;
}

export interface InterfaceStats {
  name: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
}

export type NetworkStats = Partial<InterfaceStats> & { time: string; interfaces?: readonly InterfaceStats[] };

export interface FsStatsJson {
  time: string;
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}

export type VolumeStats = FsStatsJson & {
  name?: string;
  pvcRef?: { name: string; namespace: string };
  volumeHealthStats?: { abnormal: boolean };
};

export interface ContainerStats {
  name: string;
  startTime: string | null;
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  rootfs?: FsStatsJson;
  logs?: FsStatsJson;
  swap?: SwapStats;
}

export interface PodStats {
  podRef: { name: string; namespace: string; uid: string };
  startTime: string | null;
  containers: readonly ContainerStats[];
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  network?: NetworkStats;
  volume?: readonly VolumeStats[];
  'ephemeral-storage'?: FsStatsJson;
  process_stats?: { process_count: number };
  swap?: SwapStats;
}

export interface NodeStats {
  nodeName: string;
  systemContainers?: readonly ContainerStats[];
  startTime: string | null;
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  network?: NetworkStats;
  fs?: FsStatsJson;
  runtime?: { imageFs?: FsStatsJson; containerFs?: FsStatsJson };
  rlimit?: { time: string; maxpid?: number; curproc?: number };
  swap?: SwapStats;
}

export interface Summary {
  node: NodeStats;
  pods: readonly PodStats[];
}

/** Go writes whole seconds. null for an unknown time. */
export function timeJson(ms: number | undefined): string | null {
  return ms === undefined || ms <= 0 ? null : knownTime(ms);
}

export function knownTime(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * Where the kernel does not measure pressure, as with cgroup v1, zeros are shown (upstream: stats/helper.go
 * cadvisorPSIToStatsPSI).
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
