import type { InterfaceUse } from '../../ports/stats.ts';
import type { DiskFacts, VolumeFact } from './disk-facts.ts';
import { fsJson, groupJson, networkJson } from './group-json.ts';
import type { GroupSample } from './group-samples.ts';
import { podDiskUse } from './pod-disk-use.ts';
import type { MeasuredContainer, MeasuredPod } from './pod-groups.ts';
import type { ContainerStats, PodStats, VolumeStats } from './summary-types.ts';
import { knownTime, timeJson } from './summary-types.ts';

/** A pod with all its samples. */
export interface SampledPod {
  readonly pod: MeasuredPod;
  readonly group: GroupSample | undefined;
  readonly containers: readonly { container: MeasuredContainer; sample: GroupSample }[];
  readonly interfaces: readonly InterfaceUse[] | undefined;
  /** The number of processes in its sandbox and containers; undefined if they were not counted. */
  readonly processes: number | undefined;
}

/** Returns only CPU and memory, for /metrics/resource and `only_cpu_and_memory`. */
export function podCpuAndMemory({ pod, group, containers }: SampledPod): PodStats {
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: timeJson(pod.startedAtMs),
    containers: containers.map(({ container, sample }) => ({
      name: container.name,
      startTime: timeJson(container.createdAtMs),
      ...groupJson(sample, 'cpuAndMemory'),
    })),
    ...(group !== undefined && groupJson(group, 'cpuAndMemory')),
  };
}

export function podJson(sampled: SampledPod, disks: DiskFacts): PodStats {
  const { pod, group, containers, interfaces, processes } = sampled;
  const facts = disks.volumes.get(pod.uid) ?? [];
  const volume = [...facts.filter(isEphemeral), ...facts.filter((fact) => !isEphemeral(fact))].map(volumeJson);
  const network = networkJson(interfaces ?? [], group?.use.atMs ?? containers[0]?.sample.use.atMs ?? 0);
  const storage = ephemeralStorage(sampled, disks);
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: timeJson(pod.startedAtMs),
    containers: containers.map(({ container, sample }) => containerJson({ pod, container, sample, disks })),
    ...(group !== undefined && groupJson(group, 'all')),
    ...(network !== undefined && { network }),
    ...(volume.length > 0 && { volume }),
    ...(storage !== undefined && { 'ephemeral-storage': storage }),
    ...(processes !== undefined && { process_stats: { process_count: processes } }),
  };
}

function containerJson({
  pod,
  container,
  sample,
  disks,
}: {
  pod: MeasuredPod;
  container: MeasuredContainer;
  sample: GroupSample;
  disks: DiskFacts;
}): ContainerStats {
  const layer = disks.layers.get(container.id);
  const logs = disks.pods.get(pod.uid)?.logs.get(container.name);
  return {
    name: container.name,
    startTime: timeJson(container.createdAtMs),
    ...groupJson(sample, 'summary'),
    ...(disks.imageFs !== undefined && layer !== undefined && { rootfs: fsJson(disks.imageFs.fs, layer) }),
    ...(disks.rootFs !== undefined && logs !== undefined && { logs: fsJson(disks.rootFs, logs) }),
  };
}

/**
 * Returns the ephemeral storage on the root file system: writable layers, logs, volumes on the node's own disk, and the
 * hosts file (upstream: calcEphemeralStorage).
 */
function ephemeralStorage({ pod, containers }: SampledPod, disks: DiskFacts): PodStats['ephemeral-storage'] {
  if (disks.rootFs === undefined) return undefined;
  return fsJson(
    disks.rootFs,
    podDiskUse({ uid: pod.uid, containers: containers.map(({ container }) => container) }, disks).total,
  );
}

function isEphemeral({ volume }: VolumeFact): boolean {
  return volume.ephemeral;
}

function volumeJson({ volume, usage, atMs }: VolumeFact): VolumeStats {
  return {
    time: knownTime(atMs),
    availableBytes: usage.availableBytes ?? 0,
    capacityBytes: usage.capacityBytes ?? 0,
    usedBytes: usage.usedBytes ?? 0,
    inodesFree: usage.inodesFree ?? 0,
    inodes: usage.inodes ?? 0,
    inodesUsed: usage.inodesUsed ?? 0,
    name: volume.name,
    ...(volume.claim !== undefined && { pvcRef: volume.claim }),
    ...(usage.abnormal !== undefined && { volumeHealthStats: { abnormal: usage.abnormal.abnormal } }),
  };
}
