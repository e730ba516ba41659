import { ModelNode } from '../../src/kubelet/features/stats/testing/model-node.ts';
import type { FsUse, GroupLimits, GroupUse, NodeStatsSources } from '../../src/kubelet/ports/stats.ts';
import type { SimulatedNode } from './world.ts';

const GiB = 2 ** 30;
const MEMORY_BYTES = 8 * GiB;
const DISK_BYTES = 100 * GiB;
export const TRANSITION_MS = 60_000;

/** The thresholds of a simulated node. By the soft one the model decides whether memory is short. */
export const pressureConfig = {
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
  evictionSoft: { 'memory.available': '2Gi' },
  evictionSoftGracePeriod: { 'memory.available': '20s' },
  evictionMaxPodGracePeriod: 10,
  evictionPressureTransitionPeriod: `${TRANSITION_MS / 1000}s`,
  enforceNodeAllocatable: ['none'],
};

interface Use {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/**
 * The usage of the pods of the simulated machine, as the kernel and the disks report it. Only running pods use memory.
 */
export class PressureModel extends ModelNode {
  readonly uses = new Map<string, Use>();
  readonly #node: () => SimulatedNode;

  constructor(node: () => SimulatedNode) {
    super(() => node().clock.nowMs());
    this.#node = node;
  }

  isRunning(uid: string): boolean {
    return this.#containers(uid).length > 0;
  }

  /** Whether any threshold is crossed. */
  get isShort(): boolean {
    return this.freeMemory < 2 * GiB || this.freeDisk < DISK_BYTES * 0.1;
  }

  /** Reduces the usage of all pods. */
  relax(): void {
    for (const uid of this.uses.keys()) this.uses.set(uid, { memoryBytes: 1, diskBytes: 1 });
  }

  get freeMemory(): number {
    return MEMORY_BYTES - GiB / 2 - this.#sum(({ memoryBytes }) => memoryBytes, true);
  }

  get freeDisk(): number {
    return DISK_BYTES * 0.6 - this.#sum(({ diskBytes }) => diskBytes, false);
  }

  override use(path: string): GroupUse | undefined {
    const uid = /\/pod([^/]+)/.exec(path)?.[1];
    if (uid !== undefined && !this.isRunning(uid)) return undefined;
    const bytes =
      uid !== undefined
        ? (this.uses.get(uid)?.memoryBytes ?? 0)
        : path === '/'
          ? MEMORY_BYTES - this.freeMemory
          : MEMORY_BYTES - GiB / 2 - this.freeMemory;
    const own = super.use('/');
    return own === undefined ? undefined : { ...own, memory: { ...own.memory, workingSetBytes: bytes } };
  }

  override limits(): GroupLimits | undefined {
    return super.limits('/');
  }

  override children(path: string): string[] {
    const uid = /\/pod([^/]+)$/.exec(path)?.[1];
    return uid === undefined ? [] : [...this.#containers(uid), ...this.#sandboxes(uid)];
  }

  override fileSystem(): Promise<FsUse> {
    const availableBytes = this.freeDisk;
    const atMs = this.#node().clock.nowMs();
    return Promise.resolve({
      atMs,
      capacityBytes: DISK_BYTES,
      availableBytes,
      freeBytes: availableBytes,
      inodes: 1e6,
      inodesFree: 9e5,
    });
  }

  override sources(): NodeStatsSources {
    return {
      groups: this,
      fs: this,
      runtime: {
        writableLayers: () =>
          Promise.resolve(
            new Map(
              this.#node()
                .runtime.containers()
                .map(({ id, sandbox }) => [
                  id,
                  { atMs: 0, usedBytes: this.uses.get(sandbox.config.uid)?.diskBytes ?? 0, inodesUsed: 1 },
                ]),
            ),
          ),
        imageFs: () => Promise.resolve({ atMs: 0, usedBytes: 0, inodesUsed: 0, mountpoint: '/var/lib/images' }),
      },
      machine: {
        machineId: 'm',
        systemUuid: 's',
        bootId: 'b',
        osVersion: '',
        kernelVersion: '',
        bootedAtMs: 0,
        cores: 4,
        physicalCores: 4,
        sockets: 1,
        memoryBytes: MEMORY_BYTES,
        swapBytes: 0,
      },
      agentGroup: undefined,
      runtimeGroup: undefined,
    };
  }

  #containers(uid: string): string[] {
    return this.#node()
      .runtime.containers(uid)
      .filter(({ state, dead }) => state === 'running' && dead !== true)
      .map(({ id }) => id);
  }

  #sandboxes(uid: string): string[] {
    return this.#node()
      .runtime.sandboxes(uid)
      .map(({ id }) => id);
  }

  /** The writable layer of an ended container exists until the container is removed. */
  #sum(of: (use: Use) => number, runningOnly: boolean): number {
    return [...this.uses].reduce((sum, [uid, use]) => {
      const counts = runningOnly ? this.isRunning(uid) : this.#node().runtime.containers(uid).length > 0;
      return counts ? sum + of(use) : sum;
    }, 0);
  }
}
