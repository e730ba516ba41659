import type {
  FsStats,
  GroupLimits,
  GroupStats,
  GroupUse,
  MemoryUse,
  NodeStatsSources,
  TreeUse,
} from '../../../ports/stats.ts';

interface ModelGroup {
  cpuNs: number;
  readonly memoryBytes: number;
  readonly pids: number[];
  readonly limits: Partial<GroupLimits>;
}

const NO_LIMITS: GroupLimits = {
  cpuShares: 2,
  cpuPeriodUs: 100_000,
  cpuQuotaUs: 0,
  memoryBytes: Infinity,
  memorySwapBytes: Infinity,
  memoryReservationBytes: Infinity,
};

/**
 * The groups and disks of a node as the kernel counts them. Tests add groups, let them use resources, and remove them.
 */
export class ModelNode implements GroupStats, FsStats {
  readonly groups = new Map<string, ModelGroup>();
  readonly trees = new Map<string, number>();
  readonly layers = new Map<string, TreeUse>();
  /** The number of group reads. */
  looks = 0;
  /** The promise that the disks await while they hang. */
  hung: Promise<void> | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.add('/', { pids: [1] });
  }

  add(path: string, group: Partial<ModelGroup> = {}): void {
    this.groups.set(path, { cpuNs: 1000, memoryBytes: 4096, pids: [], limits: {}, ...group });
  }

  work(path: string, cpuNs: number): void {
    const group = this.groups.get(path);
    if (group !== undefined) group.cpuNs += cpuNs;
  }

  use(path: string): GroupUse | undefined {
    const group = this.groups.get(path);
    if (group === undefined) return undefined;
    this.looks++;
    const { cpuNs, memoryBytes } = group;
    return {
      atMs: this.#nowMs(),
      cpu: {
        usageNs: cpuNs,
        userNs: cpuNs / 2,
        systemNs: cpuNs / 2,
        periods: 4,
        throttledPeriods: 3,
        throttledNs: 2e9,
        burstPeriods: 0,
        burstNs: 0,
      },
      memory: {
        usageBytes: memoryBytes,
        workingSetBytes: memoryBytes,
        rssBytes: memoryBytes,
        cacheBytes: 0,
        mappedFileBytes: 0,
        swapBytes: 0,
        activeFileBytes: 0,
        inactiveFileBytes: 0,
        pageFaults: 5,
        majorPageFaults: 1,
        kernelBytes: 0,
        maxUsageBytes: memoryBytes,
        failures: 0,
        oomKills: 0,
      },
      io: {
        bytes: [
          {
            device: '/dev/vda',
            major: 253,
            minor: 0,
            counts: new Map([
              ['Read', 512],
              ['Write', 1024],
            ] as const),
          },
        ],
        operations: [],
      },
      threads: { current: 2, limit: 0 },
    };
  }

  memory(path: string): MemoryUse | undefined {
    return this.use(path)?.memory;
  }

  limits(path: string): GroupLimits | undefined {
    const group = this.groups.get(path);
    return group === undefined ? undefined : { ...NO_LIMITS, ...group.limits };
  }

  children(path: string): string[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.groups.keys()]
      .filter((each) => each !== '/' && each.startsWith(prefix) && !each.slice(prefix.length).includes('/'))
      .map((each) => each.slice(prefix.length));
  }

  processIds(path: string): number[] {
    return this.groups.get(path)?.pids ?? [];
  }

  processUse(path: string) {
    return { processes: this.processIds(path).length, openFiles: 3, sockets: 1, openFilesLimit: 1024 };
  }

  createdAtMs(): number {
    return 1000;
  }

  interfaces(pid: number) {
    return pid === 0
      ? []
      : [
          {
            name: 'eth0',
            rxBytes: pid,
            rxPackets: 1,
            rxErrors: 0,
            rxDropped: 0,
            txBytes: pid * 2,
            txPackets: 1,
            txErrors: 0,
            txDropped: 0,
          },
        ];
  }

  disks() {
    return [];
  }

  tasks() {
    return { current: 7, limit: 100 };
  }

  async fileSystem() {
    await this.hung;
    return {
      atMs: this.#nowMs(),
      capacityBytes: 1000,
      availableBytes: 400,
      freeBytes: 500,
      inodes: 100,
      inodesFree: 60,
    };
  }

  remoteFileSystem() {
    return this.fileSystem();
  }

  async tree(path: string): Promise<TreeUse> {
    await this.hung;
    return { atMs: this.#nowMs(), usedBytes: this.trees.get(path) ?? 0, inodesUsed: this.trees.has(path) ? 1 : 0 };
  }

  device(): Promise<string> {
    return Promise.resolve('/dev/vda');
  }

  sources(): NodeStatsSources {
    return {
      groups: this,
      fs: this,
      runtime: {
        writableLayers: () => Promise.resolve(this.layers),
        imageFs: () => Promise.resolve({ mountpoint: '/images', atMs: 0, usedBytes: 77, inodesUsed: 3 }),
      },
      machine: {
        machineId: 'm',
        systemUuid: 's',
        bootId: 'b',
        osVersion: 'os',
        kernelVersion: '6.1',
        bootedAtMs: 500,
        cores: 2,
        physicalCores: 2,
        sockets: 1,
        memoryBytes: 1e9,
        swapBytes: 0,
      },
      agentGroup: undefined,
      runtimeGroup: undefined,
    };
  }
}
