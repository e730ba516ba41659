// The families of /metrics/cadvisor for cgroups. Names, types, labels and meaning are upstream's (cAdvisor,
// metrics/prometheus.go), because tools match them. The help texts are our own.
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

/** One cgroup with all its figures. */
export interface ListedGroup {
  readonly use: GroupUse;
  readonly limits: GroupLimits;
  readonly createdAtMs: number | undefined;
  readonly nowMs: number;
  readonly interfaces: readonly InterfaceUse[];
  readonly processes: ProcessUse | undefined;
  /** The file systems; only for the node. */
  readonly fileSystems: readonly { device: string; fs: FsUse; disk: DiskUse | undefined }[];
}

/** The labels of a line in addition to those of the group. */
export type ExtraLabels = Readonly<Record<string, string>>;
type Emit = (value: number, extra?: ExtraLabels) => void;

export interface GroupFamily {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  /** The time stamp of the lines. As upstream, configured values (which are not measured) have none. */
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
    'Periods in which the CPU quota was exceeded by burst.',
    ({ use }) => use.cpu.burstPeriods,
  ),
  throttling(
    'container_cpu_cfs_burst_seconds_total',
    'Time that burst added to the CPU quota, in seconds.',
    ({ use }) => use.cpu.burstNs / NS_PER_SECOND,
  ),
  throttling(
    'container_cpu_cfs_periods_total',
    'CPU quota periods in which the cgroup was runnable.',
    ({ use }) => use.cpu.periods,
  ),
  throttling(
    'container_cpu_cfs_throttled_periods_total',
    'CPU quota periods in which the cgroup was throttled.',
    ({ use }) => use.cpu.throttledPeriods,
  ),
  throttling(
    'container_cpu_cfs_throttled_seconds_total',
    'Time for which the cgroup was throttled by its CPU quota, in seconds.',
    ({ use }) => use.cpu.throttledNs / NS_PER_SECOND,
  ),
  // As upstream's kubelet, the agent does not use cAdvisor's load reader, so these values are zero.
  one(
    'gauge',
    'container_cpu_load_average_10s',
    'Runnable tasks, averaged over 10 seconds. Always 0: the load reader is off, as in upstream.',
    () => 0,
  ),
  one(
    'gauge',
    'container_cpu_load_d_average_10s',
    'Uninterruptible tasks, averaged over 10 seconds. Always 0: the load reader is off, as in upstream.',
    () => 0,
  ),
  one(
    'counter',
    'container_cpu_system_seconds_total',
    'CPU time in kernel mode, in seconds.',
    ({ use }) => use.cpu.systemNs / NS_PER_SECOND,
  ),
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU time in user and kernel mode, in seconds.',
    type: 'counter',
    timed: 'sample',
    values: ({ use }, emit) => use.cpu.usageNs > 0 && emit(use.cpu.usageNs / NS_PER_SECOND, { cpu: 'total' }),
  },
  one(
    'counter',
    'container_cpu_user_seconds_total',
    'CPU time in user mode, in seconds.',
    ({ use }) => use.cpu.userNs / NS_PER_SECOND,
  ),
  {
    name: 'container_tasks_state',
    help: 'Tasks by state. Always 0: the load reader is off, as in upstream.',
    type: 'gauge',
    timed: 'sample',
    values: (_group, emit) =>
      ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'].forEach((state) => emit(0, { state })),
  },
];

const memory: readonly GroupFamily[] = [
  one('gauge', 'container_memory_cache', 'Page cache of the cgroup, in bytes.', ({ use }) => use.memory.cacheBytes),
  one(
    'counter',
    'container_memory_failcnt',
    'How often memory usage reached the limit.',
    ({ use }) => use.memory.failures,
  ),
  {
    name: 'container_memory_failures_total',
    help: 'Page faults, by type (pgfault, pgmajfault) and scope (container, hierarchy).',
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
    'Kernel memory of the cgroup, in bytes.',
    ({ use }) => use.memory.kernelBytes,
  ),
  one(
    'gauge',
    'container_memory_mapped_file',
    'Memory-mapped files, in bytes.',
    ({ use }) => use.memory.mappedFileBytes,
  ),
  one(
    'gauge',
    'container_memory_max_usage_bytes',
    'Highest memory usage since the cgroup was created, in bytes.',
    ({ use }) => use.memory.maxUsageBytes,
  ),
  one('gauge', 'container_memory_rss', 'Anonymous memory (RSS), in bytes.', ({ use }) => use.memory.rssBytes),
  one('gauge', 'container_memory_swap', 'Used swap, in bytes.', ({ use }) => use.memory.swapBytes),
  one(
    'gauge',
    'container_memory_total_active_file_bytes',
    'Active page cache of the cgroup and those below it, in bytes.',
    ({ use }) => use.memory.activeFileBytes,
  ),
  one(
    'gauge',
    'container_memory_total_inactive_file_bytes',
    'Inactive page cache of the cgroup and those below it, in bytes.',
    ({ use }) => use.memory.inactiveFileBytes,
  ),
  one(
    'gauge',
    'container_memory_usage_bytes',
    'Memory usage, page cache included, in bytes.',
    ({ use }) => use.memory.usageBytes,
  ),
  one(
    'gauge',
    'container_memory_working_set_bytes',
    'Working set in bytes: memory usage without inactive page cache.',
    ({ use }) => use.memory.workingSetBytes,
  ),
  one('counter', 'container_oom_events_total', 'OOM kills in the container.', ({ use }) => use.memory.oomKills),
];

const stalls: readonly GroupFamily[] = [
  pressure(
    'cpu_stalled',
    'Time in which all tasks of the cgroup were stalled on CPU, in seconds (PSI full).',
    ({ use }) => use.cpu.pressure?.full.totalUs,
  ),
  pressure(
    'cpu_waiting',
    'Time in which some task of the cgroup waited for CPU, in seconds (PSI some).',
    ({ use }) => use.cpu.pressure?.some.totalUs,
  ),
  pressure(
    'io_stalled',
    'Time in which all tasks of the cgroup were stalled on I/O, in seconds (PSI full).',
    ({ use }) => use.io?.pressure?.full.totalUs,
  ),
  pressure(
    'io_waiting',
    'Time in which some task of the cgroup waited for I/O, in seconds (PSI some).',
    ({ use }) => use.io?.pressure?.some.totalUs,
  ),
  pressure(
    'memory_stalled',
    'Time in which all tasks of the cgroup were stalled on memory, in seconds (PSI full).',
    ({ use }) => use.memory.pressure?.full.totalUs,
  ),
  pressure(
    'memory_waiting',
    'Time in which some task of the cgroup waited for memory, in seconds (PSI some).',
    ({ use }) => use.memory.pressure?.some.totalUs,
  ),
];

const disks: readonly GroupFamily[] = [
  {
    name: 'container_blkio_device_usage_total',
    help: 'Bytes transferred, by block device and operation.',
    type: 'counter',
    timed: 'sample',
    values: ({ use }, emit) => {
      for (const { device: name, major, minor, counts } of use.io?.bytes ?? [])
        for (const [operation, bytes] of counts)
          emit(bytes, { device: name, major: String(major), minor: String(minor), operation });
    },
  },
  device('gauge', 'container_fs_inodes_free', 'Free inodes of the file system.', { fs: ({ fs }) => fs.inodesFree }),
  device('gauge', 'container_fs_inodes_total', 'Inodes of the file system.', { fs: ({ fs }) => fs.inodes }),
  device('gauge', 'container_fs_io_current', 'I/O operations in progress.', {
    fs: ({ disk }) => disk?.inProgress,
  }),
  device('counter', 'container_fs_io_time_seconds_total', 'Time in which the device was busy, in seconds.', {
    fs: ({ disk }) => disk && disk.ioMs / MS_PER_SECOND,
  }),
  device(
    'counter',
    'container_fs_io_time_weighted_seconds_total',
    'Time of I/O operations weighted by their number in progress, in seconds.',
    {
      fs: ({ disk }) => disk && disk.weightedIoMs / MS_PER_SECOND,
    },
  ),
  device('gauge', 'container_fs_limit_bytes', 'Size of the file system, in bytes.', {
    fs: ({ fs }) => fs.capacityBytes,
  }),
  device('counter', 'container_fs_read_seconds_total', 'Time of read operations, in seconds.', {
    fs: ({ disk }) => disk && disk.readMs / MS_PER_SECOND,
  }),
  device('counter', 'container_fs_reads_bytes_total', 'Bytes read.', {
    io: { of: 'bytes', operation: 'Read' },
  }),
  device('counter', 'container_fs_reads_merged_total', 'Read operations that were merged.', {
    fs: ({ disk }) => disk?.readsMerged,
  }),
  device('counter', 'container_fs_reads_total', 'Completed read operations.', {
    io: { of: 'operations', operation: 'Read' },
    fs: ({ disk }) => disk?.reads,
  }),
  device('counter', 'container_fs_sector_reads_total', 'Sectors read.', {
    fs: ({ disk }) => disk?.sectorsRead,
  }),
  device('counter', 'container_fs_sector_writes_total', 'Sectors written.', {
    fs: ({ disk }) => disk?.sectorsWritten,
  }),
  device('gauge', 'container_fs_usage_bytes', 'Disk space used on the file system, in bytes.', {
    fs: ({ fs }) => fs.capacityBytes - fs.freeBytes,
  }),
  device('counter', 'container_fs_write_seconds_total', 'Time of write operations, in seconds.', {
    fs: ({ disk }) => disk && disk.writeMs / MS_PER_SECOND,
  }),
  device('counter', 'container_fs_writes_bytes_total', 'Bytes written.', {
    io: { of: 'bytes', operation: 'Write' },
  }),
  device('counter', 'container_fs_writes_merged_total', 'Write operations that were merged.', {
    fs: ({ disk }) => disk?.writesMerged,
  }),
  device('counter', 'container_fs_writes_total', 'Completed write operations.', {
    io: { of: 'operations', operation: 'Write' },
    fs: ({ disk }) => disk?.writes,
  }),
];

const networks: readonly GroupFamily[] = [
  network('receive_bytes', 'Bytes received by the network interface.', (each) => each.rxBytes),
  network('receive_errors', 'Receive errors of the network interface.', (each) => each.rxErrors),
  network('receive_packets_dropped', 'Received packets that the network interface dropped.', (each) => each.rxDropped),
  network('receive_packets', 'Packets received by the network interface.', (each) => each.rxPackets),
  network('transmit_bytes', 'Bytes sent by the network interface.', (each) => each.txBytes),
  network('transmit_errors', 'Send errors of the network interface.', (each) => each.txErrors),
  network(
    'transmit_packets_dropped',
    'Packets that the network interface dropped instead of sending them.',
    (each) => each.txDropped,
  ),
  network('transmit_packets', 'Packets sent by the network interface.', (each) => each.txPackets),
];

const processes: readonly GroupFamily[] = [
  one(
    'gauge',
    'container_file_descriptors',
    'Open file descriptors of the processes in the container.',
    ({ processes: own }) => own?.openFiles,
  ),
  one('gauge', 'container_processes', 'Processes in the container.', ({ processes: own }) => own?.processes),
  one(
    'gauge',
    'container_sockets',
    'Open sockets of the processes in the container.',
    ({ processes: own }) => own?.sockets,
  ),
  one('gauge', 'container_threads', 'Threads in the container.', ({ use }) => use.threads?.current),
  one(
    'gauge',
    'container_threads_max',
    'Limit of threads in the container; 0 means no limit.',
    ({ use }) => use.threads?.limit,
  ),
  {
    name: 'container_ulimits_soft',
    help: 'Soft limits of the first process of the container; -1 means no limit, except for priority and nice.',
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
  spec(
    'container_start_time_seconds',
    'Creation time of the container, in seconds since the epoch.',
    ({ createdAtMs }) => (createdAtMs === undefined ? undefined : Math.floor(createdAtMs / 1000)),
  ),
  spec('container_spec_cpu_period', 'CPU quota period in microseconds.', ({ limits }) => limits.cpuPeriodUs),
  spec('container_spec_cpu_quota', 'CPU quota per period in microseconds.', ({ limits }) =>
    limits.cpuQuotaUs === 0 ? undefined : limits.cpuQuotaUs,
  ),
  spec('container_spec_cpu_shares', 'CPU shares: the weight of the cgroup.', ({ limits }) => limits.cpuShares),
  spec('container_spec_memory_limit_bytes', 'Memory limit in bytes; 0 means no limit.', ({ limits }) =>
    unlimitedAsZero(limits.memoryBytes),
  ),
  spec('container_spec_memory_reservation_limit_bytes', 'Memory reservation (soft limit) in bytes.', ({ limits }) =>
    unlimitedAsZero(limits.memoryReservationBytes),
  ),
  spec(
    'container_spec_memory_swap_limit_bytes',
    'Swap limit in bytes; on cgroup v1 the limit of memory and swap together.',
    ({ limits }) => unlimitedAsZero(limits.memorySwapBytes),
  ),
];

/** The families in the order of their names, as writers of the format list them. */
export const groupFamilies: readonly GroupFamily[] = [
  ...cpu,
  ...memory,
  ...stalls,
  ...disks,
  ...networks,
  ...processes,
  ...others,
].sort((left, right) => (left.name < right.name ? -1 : 1));
