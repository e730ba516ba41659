// The families of /metrics/cadvisor for cgroups: names, kinds, help and meaning are upstream's (cAdvisor,
// metrics/prometheus.go), because tools match them.
import type {
  DeviceCounts,
  DiskUse,
  FsUse,
  GroupLimits,
  GroupUse,
  InterfaceUse,
  IoOperation,
  ProcessUse,
} from '../../ports/stats.ts';
import type { FamilyType } from './exposition.ts';

/** One group with all its figures. */
export interface ListedGroup {
  readonly use: GroupUse;
  readonly limits: GroupLimits;
  readonly createdAtMs: number | undefined;
  readonly nowMs: number;
  readonly interfaces: readonly InterfaceUse[];
  readonly processes: ProcessUse | undefined;
  /** Of the node itself only. */
  readonly fileSystems: readonly { device: string; fs: FsUse; disk: DiskUse | undefined }[];
}

/** Labels of one line in addition to the group's own. */
export type ExtraLabels = Readonly<Record<string, string>>;
type Emit = (value: number, extra?: ExtraLabels) => void;

export interface GroupFamily {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  /** Upstream writes no time stamp for configured (not measured) values. */
  readonly timed: 'sample' | 'now' | 'none';
  readonly values: (group: ListedGroup, emit: Emit) => void;
}

const NS_PER_SECOND = 1e9;
const US_PER_SECOND = 1e6;
const MS_PER_SECOND = 1000;

type Read = (group: ListedGroup) => number | undefined;

function one(type: FamilyType, name: string, help: string, read: Read): GroupFamily {
  return {
    name,
    help,
    type,
    timed: 'sample',
    values: (group, emit) => {
      const value = read(group);
      if (value !== undefined) emit(value);
    },
  };
}

function spec(name: string, help: string, read: Read): GroupFamily {
  return { ...one('gauge', name, help, read), timed: 'none' };
}

/** Only for groups with a quota. */
const throttling = (name: string, help: string, read: (group: ListedGroup) => number): GroupFamily =>
  one('counter', name, help, (group) => (group.limits.cpuQuotaUs === 0 ? undefined : read(group)));

const unlimitedAsZero = (bytes: number): number => (bytes === Infinity ? 0 : bytes);

function pressure(name: string, help: string, read: Read): GroupFamily {
  return one('counter', `container_pressure_${name}_seconds_total`, help, (group) => {
    const us = read(group);
    return us === undefined ? undefined : us / US_PER_SECOND;
  });
}

function device(
  type: FamilyType,
  name: string,
  help: string,
  values: {
    io?: { of: 'bytes' | 'operations'; operation: IoOperation };
    fs?: (each: { fs: FsUse; disk: DiskUse | undefined }) => number | undefined;
  },
): GroupFamily {
  return {
    name,
    help,
    type,
    timed: 'sample',
    values: ({ use, fileSystems }, emit) => {
      const { io, fs } = values;
      const counts: readonly DeviceCounts[] = io === undefined ? [] : (use.io?.[io.of] ?? []);
      for (const each of counts)
        if (io !== undefined) emit(each.counts.get(io.operation) ?? 0, { device: each.device });
      const counted = new Set(counts.map((each) => each.device));
      for (const each of fileSystems) {
        const value = counted.has(each.device) ? undefined : fs?.(each);
        if (value !== undefined) emit(value, { device: each.device });
      }
    },
  };
}

function network(name: string, help: string, read: (each: InterfaceUse) => number): GroupFamily {
  return {
    name: `container_network_${name}_total`,
    help,
    type: 'counter',
    timed: 'sample',
    values: ({ interfaces }, emit) => interfaces.forEach((each) => emit(read(each), { interface: each.name })),
  };
}

const cpu: readonly GroupFamily[] = [
  throttling(
    'container_cpu_cfs_burst_periods_total',
    'Number of periods when burst occurs.',
    ({ use }) => use.cpu.burstPeriods,
  ),
  throttling(
    'container_cpu_cfs_burst_seconds_total',
    'Total time duration the container has been bursted.',
    ({ use }) => use.cpu.burstNs / NS_PER_SECOND,
  ),
  throttling(
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    ({ use }) => use.cpu.periods,
  ),
  throttling(
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    ({ use }) => use.cpu.throttledPeriods,
  ),
  throttling(
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    ({ use }) => use.cpu.throttledNs / NS_PER_SECOND,
  ),
  // The kubelet leaves cAdvisor's load reader off, so that these are zero there too.
  one(
    'gauge',
    'container_cpu_load_average_10s',
    'Value of container cpu load average over the last 10 seconds.',
    () => 0,
  ),
  one(
    'gauge',
    'container_cpu_load_d_average_10s',
    'Value of container cpu load.d average over the last 10 seconds.',
    () => 0,
  ),
  one(
    'counter',
    'container_cpu_system_seconds_total',
    'Cumulative system cpu time consumed in seconds.',
    ({ use }) => use.cpu.systemNs / NS_PER_SECOND,
  ),
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'Cumulative cpu time consumed in seconds.',
    type: 'counter',
    timed: 'sample',
    values: ({ use }, emit) => use.cpu.usageNs > 0 && emit(use.cpu.usageNs / NS_PER_SECOND, { cpu: 'total' }),
  },
  one(
    'counter',
    'container_cpu_user_seconds_total',
    'Cumulative user cpu time consumed in seconds.',
    ({ use }) => use.cpu.userNs / NS_PER_SECOND,
  ),
  {
    name: 'container_tasks_state',
    help: 'Number of tasks in given state',
    type: 'gauge',
    timed: 'sample',
    values: (_group, emit) =>
      ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'].forEach((state) => emit(0, { state })),
  },
];

const memory: readonly GroupFamily[] = [
  one('gauge', 'container_memory_cache', 'Number of bytes of page cache memory.', ({ use }) => use.memory.cacheBytes),
  one('counter', 'container_memory_failcnt', 'Number of memory usage hits limits', ({ use }) => use.memory.failures),
  {
    name: 'container_memory_failures_total',
    help: 'Cumulative count of memory allocation failures.',
    type: 'counter',
    timed: 'sample',
    values: (
      {
        use: {
          memory: { pageFaults, majorPageFaults },
        },
      },
      emit,
    ) => {
      for (const scope of ['container', 'hierarchy']) {
        emit(pageFaults, { failure_type: 'pgfault', scope });
        emit(majorPageFaults, { failure_type: 'pgmajfault', scope });
      }
    },
  },
  one(
    'gauge',
    'container_memory_kernel_usage',
    'Size of kernel memory allocated in bytes.',
    ({ use }) => use.memory.kernelBytes,
  ),
  one(
    'gauge',
    'container_memory_mapped_file',
    'Size of memory mapped files in bytes.',
    ({ use }) => use.memory.mappedFileBytes,
  ),
  one(
    'gauge',
    'container_memory_max_usage_bytes',
    'Maximum memory usage recorded in bytes',
    ({ use }) => use.memory.maxUsageBytes,
  ),
  one('gauge', 'container_memory_rss', 'Size of RSS in bytes.', ({ use }) => use.memory.rssBytes),
  one('gauge', 'container_memory_swap', 'Container swap usage in bytes.', ({ use }) => use.memory.swapBytes),
  one(
    'gauge',
    'container_memory_total_active_file_bytes',
    'Current total active file in bytes.',
    ({ use }) => use.memory.activeFileBytes,
  ),
  one(
    'gauge',
    'container_memory_total_inactive_file_bytes',
    'Current total inactive file in bytes.',
    ({ use }) => use.memory.inactiveFileBytes,
  ),
  one(
    'gauge',
    'container_memory_usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    ({ use }) => use.memory.usageBytes,
  ),
  one(
    'gauge',
    'container_memory_working_set_bytes',
    'Current working set in bytes.',
    ({ use }) => use.memory.workingSetBytes,
  ),
  one(
    'counter',
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    ({ use }) => use.memory.oomKills,
  ),
];

const stalls: readonly GroupFamily[] = [
  pressure(
    'cpu_stalled',
    'Total time duration no tasks in the container could make progress due to CPU congestion.',
    ({ use }) => use.cpu.pressure?.full.totalUs,
  ),
  pressure(
    'cpu_waiting',
    'Total time duration tasks in the container have waited due to CPU congestion.',
    ({ use }) => use.cpu.pressure?.some.totalUs,
  ),
  pressure(
    'io_stalled',
    'Total time duration no tasks in the container could make progress due to IO congestion.',
    ({ use }) => use.io?.pressure?.full.totalUs,
  ),
  pressure(
    'io_waiting',
    'Total time duration tasks in the container have waited due to IO congestion.',
    ({ use }) => use.io?.pressure?.some.totalUs,
  ),
  pressure(
    'memory_stalled',
    'Total time duration no tasks in the container could make progress due to memory congestion.',
    ({ use }) => use.memory.pressure?.full.totalUs,
  ),
  pressure(
    'memory_waiting',
    'Total time duration tasks in the container have waited due to memory congestion.',
    ({ use }) => use.memory.pressure?.some.totalUs,
  ),
];

const disks: readonly GroupFamily[] = [
  {
    name: 'container_blkio_device_usage_total',
    help: 'Blkio Device bytes usage',
    type: 'counter',
    timed: 'sample',
    values: ({ use }, emit) => {
      for (const { device: name, major, minor, counts } of use.io?.bytes ?? [])
        for (const [operation, bytes] of counts)
          emit(bytes, { device: name, major: String(major), minor: String(minor), operation });
    },
  },
  device('gauge', 'container_fs_inodes_free', 'Number of available Inodes', { fs: ({ fs }) => fs.inodesFree }),
  device('gauge', 'container_fs_inodes_total', 'Number of Inodes', { fs: ({ fs }) => fs.inodes }),
  device('gauge', 'container_fs_io_current', 'Number of I/Os currently in progress', {
    fs: ({ disk }) => disk?.inProgress,
  }),
  device('counter', 'container_fs_io_time_seconds_total', 'Cumulative count of seconds spent doing I/Os', {
    fs: ({ disk }) => disk && disk.ioMs / MS_PER_SECOND,
  }),
  device('counter', 'container_fs_io_time_weighted_seconds_total', 'Cumulative weighted I/O time in seconds', {
    fs: ({ disk }) => disk && disk.weightedIoMs / MS_PER_SECOND,
  }),
  device(
    'gauge',
    'container_fs_limit_bytes',
    'Number of bytes that can be consumed by the container on this filesystem.',
    { fs: ({ fs }) => fs.capacityBytes },
  ),
  device('counter', 'container_fs_read_seconds_total', 'Cumulative count of seconds spent reading', {
    fs: ({ disk }) => disk && disk.readMs / MS_PER_SECOND,
  }),
  device('counter', 'container_fs_reads_bytes_total', 'Cumulative count of bytes read', {
    io: { of: 'bytes', operation: 'Read' },
  }),
  device('counter', 'container_fs_reads_merged_total', 'Cumulative count of reads merged', {
    fs: ({ disk }) => disk?.readsMerged,
  }),
  device('counter', 'container_fs_reads_total', 'Cumulative count of reads completed', {
    io: { of: 'operations', operation: 'Read' },
    fs: ({ disk }) => disk?.reads,
  }),
  device('counter', 'container_fs_sector_reads_total', 'Cumulative count of sector reads completed', {
    fs: ({ disk }) => disk?.sectorsRead,
  }),
  device('counter', 'container_fs_sector_writes_total', 'Cumulative count of sector writes completed', {
    fs: ({ disk }) => disk?.sectorsWritten,
  }),
  device(
    'gauge',
    'container_fs_usage_bytes',
    'Number of bytes that are consumed by the container on this filesystem.',
    { fs: ({ fs }) => fs.capacityBytes - fs.freeBytes },
  ),
  device('counter', 'container_fs_write_seconds_total', 'Cumulative count of seconds spent writing', {
    fs: ({ disk }) => disk && disk.writeMs / MS_PER_SECOND,
  }),
  device('counter', 'container_fs_writes_bytes_total', 'Cumulative count of bytes written', {
    io: { of: 'bytes', operation: 'Write' },
  }),
  device('counter', 'container_fs_writes_merged_total', 'Cumulative count of writes merged', {
    fs: ({ disk }) => disk?.writesMerged,
  }),
  device('counter', 'container_fs_writes_total', 'Cumulative count of writes completed', {
    io: { of: 'operations', operation: 'Write' },
    fs: ({ disk }) => disk?.writes,
  }),
];

const networks: readonly GroupFamily[] = [
  network('receive_bytes', 'Cumulative count of bytes received', (each) => each.rxBytes),
  network('receive_errors', 'Cumulative count of errors encountered while receiving', (each) => each.rxErrors),
  network('receive_packets_dropped', 'Cumulative count of packets dropped while receiving', (each) => each.rxDropped),
  network('receive_packets', 'Cumulative count of packets received', (each) => each.rxPackets),
  network('transmit_bytes', 'Cumulative count of bytes transmitted', (each) => each.txBytes),
  network('transmit_errors', 'Cumulative count of errors encountered while transmitting', (each) => each.txErrors),
  network(
    'transmit_packets_dropped',
    'Cumulative count of packets dropped while transmitting',
    (each) => each.txDropped,
  ),
  network('transmit_packets', 'Cumulative count of packets transmitted', (each) => each.txPackets),
];

const processes: readonly GroupFamily[] = [
  one(
    'gauge',
    'container_file_descriptors',
    'Number of open file descriptors for the container.',
    ({ processes: own }) => own?.openFiles,
  ),
  one(
    'gauge',
    'container_processes',
    'Number of processes running inside the container.',
    ({ processes: own }) => own?.processes,
  ),
  one('gauge', 'container_sockets', 'Number of open sockets for the container.', ({ processes: own }) => own?.sockets),
  one(
    'gauge',
    'container_threads',
    'Number of threads running inside the container',
    ({ use }) => use.threads?.current,
  ),
  one(
    'gauge',
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    ({ use }) => use.threads?.limit,
  ),
  {
    name: 'container_ulimits_soft',
    help: 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    type: 'gauge',
    timed: 'sample',
    values: ({ processes: own }, emit) =>
      own?.openFilesLimit !== undefined && emit(own.openFilesLimit, { ulimit: 'max_open_files' }),
  },
];

const others: readonly GroupFamily[] = [
  {
    ...one('gauge', 'container_last_seen', 'Last time a container was seen by the exporter', ({ nowMs }) =>
      Math.floor(nowMs / 1000),
    ),
    timed: 'now',
  },
  spec('container_start_time_seconds', 'Start time of the container since unix epoch in seconds.', ({ createdAtMs }) =>
    createdAtMs === undefined ? undefined : Math.floor(createdAtMs / 1000),
  ),
  spec('container_spec_cpu_period', 'CPU period of the container.', ({ limits }) => limits.cpuPeriodUs),
  spec('container_spec_cpu_quota', 'CPU quota of the container.', ({ limits }) =>
    limits.cpuQuotaUs === 0 ? undefined : limits.cpuQuotaUs,
  ),
  spec('container_spec_cpu_shares', 'CPU share of the container.', ({ limits }) => limits.cpuShares),
  spec('container_spec_memory_limit_bytes', 'Memory limit for the container.', ({ limits }) =>
    unlimitedAsZero(limits.memoryBytes),
  ),
  spec('container_spec_memory_reservation_limit_bytes', 'Memory reservation limit for the container.', ({ limits }) =>
    unlimitedAsZero(limits.memoryReservationBytes),
  ),
  spec('container_spec_memory_swap_limit_bytes', 'Memory swap limit for the container.', ({ limits }) =>
    unlimitedAsZero(limits.memorySwapBytes),
  ),
];

/** By name, as the format's writers give them. */
export const groupFamilies: readonly GroupFamily[] = [
  ...cpu,
  ...memory,
  ...stalls,
  ...disks,
  ...networks,
  ...processes,
  ...others,
].sort((left, right) => (left.name < right.name ? -1 : 1));
