import type { Pod } from '../../../../api/core/pod.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { applyDefaults } from '../../../model/config/defaults.ts';
import { computeFeatureGates } from '../../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../../model/config/kubelet-config.ts';
import type { PodUid } from '../../../model/ids.ts';
import { podUid } from '../../../model/ids.ts';
import type { FsUse } from '../../../ports/stats.ts';
import { createEviction } from '../create-eviction.ts';
import { EvictedRecord } from '../evicted-record.ts';
import type { EvictionManager } from '../eviction-manager.ts';
import type { EvictionReporter } from '../eviction-reporter.ts';
import { NodePressure } from '../node-pressure.ts';
import type { PodDiskUse } from '../pod-usage.ts';

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

interface ModelPod {
  readonly pod: Pod;
  readonly memoryBytes: number;
  readonly tasks: number;
  readonly diskBytes: number;
  readonly inodes: number;
}

const NOTHING = { usedBytes: 0, inodesUsed: 0 };

/** A node in memory whose pods use its resources, and give them back once they are killed and their grace is over. */
export class EvictionWorld {
  readonly clock = new FakeClock();
  readonly log = recordingLog();
  readonly pods = new Map<PodUid, ModelPod>();
  readonly leaving = new Set<PodUid>();
  readonly killed: { name: string; graceMs: number; atMs: number }[] = [];
  readonly said: string[] = [];
  readonly annotations: Readonly<Record<string, string>>[] = [];
  readonly counted: string[] = [];
  readonly ages: number[] = [];
  readonly reclaimed: string[] = [];
  readonly conditions: string[] = [];
  readonly pressure = new NodePressure();
  readonly record = new EvictedRecord();
  readonly manager: EvictionManager;
  readonly reporter: EvictionReporter;
  /** The listener for kernel pressure, which tests call. It is undefined while the manager does not listen. */
  onMemoryEvent: (() => void) | undefined;
  memoryCapacity = 8 * GiB;
  /** The memory used by the system itself. */
  systemBytes = GiB;
  podsLimit = Infinity;
  tasks = { current: 1000, limit: 30_000 };
  /** The file system of the root directory. Images are on it, unless they have a separate one. */
  root = { capacityBytes: 100 * GiB, otherBytes: 10 * GiB, inodes: 1e6 };
  images: { capacityBytes: number; usedBytes: number } | undefined;
  /** The amounts that the node itself can free. */
  unused = { containers: 0, images: 0 };
  /** How long after its removal the space of unused things becomes free. */
  freedAfterMs = 0;
  /** The promise that the removal of unused things awaits. It may reject. */
  reclaiming: Promise<void> = Promise.resolve();
  ready = true;
  /** The number of reads of the node's memory. */
  looks = 0;
  /** The result of a file system that does not respond. */
  hung: Promise<FsUse> | undefined;
  /** How long a killed pod stays after its grace period. */
  lingerMs = 0;

  constructor(config: Record<string, unknown>) {
    const given = applyDefaults({ ...config }, () => false);
    const { manager, reporter } = createEviction({
      config: toKubeletConfig(given, computeFeatureGates({}).gates),
      rootDir: '/root',
      podsGroup: '/kubepods',
      sources: {
        groups: {
          memory: (path) => this.#memory(path),
          use: (path) => ({
            threads: { current: this.pods.get(podUid(path.split('/')[2] ?? ''))?.tasks ?? 0, limit: 0 },
          }),
          limits: () => ({ memoryBytes: this.podsLimit }),
          tasks: () => this.tasks,
        },
        fs: {
          fileSystem: async (path) => this.hung ?? this.#fs(path),
          device: async (path) => (path === '/images' && this.images !== undefined ? '/dev/vdb' : '/dev/vda'),
        },
        runtime: { imageFs: async () => ({ mountpoint: '/images' }) },
        machine: { memoryBytes: this.memoryCapacity },
        memoryEvents: {
          watch: (_path, onEvent) => {
            this.onMemoryEvent = onEvent;
            return () => (this.onMemoryEvent = undefined);
          },
        },
      },
      runningPods: () =>
        [...this.pods].map(([uid, { pod }]) => ({
          uid,
          path: `/kubepods/${uid}`,
          containers: pod.spec.containers.map(({ name }) => ({ name, path: `/kubepods/${uid}/${name}` })),
        })),
      diskUse: async (uids) => new Map([...uids].map((uid) => [uid, this.#diskUse(uid as PodUid)])),
      pressure: this.pressure,
      record: this.record,
      activePods: () => [...this.pods.values()].map(({ pod }) => pod),
      isReady: () => this.ready,
      isCleanedUp: (uid) => !this.pods.has(uid),
      containerGc: { deleteUnused: () => this.#free('containers'), countUnused: async () => 2 },
      imageGc: {
        deleteUnused: () => this.#free('images'),
        countUnused: async () => ({ images: 1, imageBytes: 5 * MiB }),
      },
      saveEvicted: async () => undefined,
      kill: (uid, graceMs) => this.#kill(uid, graceMs),
      events: {
        nodeEvent: (_type, reason, message) => void this.said.push(`node ${reason}: ${message}`),
        annotatedEvent: (pod, { reason, message, annotations }) => {
          this.said.push(`${pod.metadata.name} ${reason}: ${message}`);
          this.annotations.push(annotations);
        },
      },
      onEvicted: (signal) => void this.counted.push(signal),
      onStatsAge: (_signal, ageMs) => void this.ages.push(ageMs),
      clock: this.clock,
      random: seededRandom(1),
      log: this.log,
      pod: (uid) => this.pods.get(uid)?.pod,
    });
    this.manager = manager;
    this.reporter = reporter;
    this.pressure.onChange(() => this.conditions.push(this.pressure.conditions.join('+') || 'none'));
  }

  /** Creates an API pod. Its UID is its name. */
  add(name: string, use: Partial<Omit<ModelPod, 'pod'>> = {}, changes: Record<string, unknown> = {}): Pod {
    const pod = buildPod({
      'metadata.name': name,
      'metadata.uid': name,
      'metadata.annotations': { 'kubernetes.io/config.source': 'api' },
      ...changes,
    });
    this.pods.set(podUid(name), { pod, memoryBytes: 0, tasks: 1, diskBytes: 0, inodes: 1, ...use });
    return pod;
  }

  change(name: string, use: Partial<Omit<ModelPod, 'pod'>>): void {
    const known = this.pods.get(podUid(name));
    if (known !== undefined) Object.assign(known, use);
  }

  /** The number of unused bytes of memory. */
  get freeMemory(): number {
    return this.memoryCapacity - this.#memoryOf('/');
  }

  get names(): string[] {
    return [...this.pods.keys()];
  }

  #kill(uid: PodUid, graceMs: number): void {
    this.killed.push({ name: uid, graceMs, atMs: this.clock.monotonicMs() });
    this.leaving.add(uid);
    this.clock.setTimer(graceMs + this.lingerMs, () => {
      this.pods.delete(uid);
      this.leaving.delete(uid);
      this.manager.podChanged(uid);
    });
  }

  async #free(what: 'containers' | 'images'): Promise<number> {
    this.reclaimed.push(what);
    await this.reclaiming;
    const bytes = this.unused[what];
    this.unused[what] = 0;
    if (this.freedAfterMs === 0) this.root.otherBytes -= bytes;
    else this.clock.setTimer(this.freedAfterMs, () => (this.root.otherBytes -= bytes));
    return bytes;
  }

  #memoryOf(path: string): number {
    const uid = podUid(path.split('/')[2] ?? '');
    const one = this.pods.get(uid);
    if (uid !== '') return one?.memoryBytes ?? -1;
    const ofPods = [...this.pods.values()].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    return path === '/' ? this.systemBytes + ofPods : ofPods;
  }

  #memory(path: string): { workingSetBytes: number } | undefined {
    if (path === '/') this.looks++;
    const workingSetBytes = this.#memoryOf(path);
    return workingSetBytes < 0 ? undefined : { workingSetBytes };
  }

  #fs(path: string): FsUse {
    const atMs = this.clock.nowMs();
    const pods = [...this.pods.values()];
    if (path === '/images' && this.images !== undefined) {
      const freeBytes = this.images.capacityBytes - this.images.usedBytes;
      const { capacityBytes } = this.images;
      return { atMs, capacityBytes, availableBytes: freeBytes, freeBytes, inodes: 1e6, inodesFree: 9e5 };
    }
    const used = pods.reduce((sum, { diskBytes }) => sum + diskBytes, this.root.otherBytes);
    const inodesUsed = pods.reduce((sum, { inodes }) => sum + inodes, 0);
    const freeBytes = this.root.capacityBytes - used;
    return {
      atMs,
      capacityBytes: this.root.capacityBytes,
      availableBytes: freeBytes,
      freeBytes,
      inodes: this.root.inodes,
      inodesFree: this.root.inodes - inodesUsed,
    };
  }

  /** Assigns all usage to the pod's first volume, or to the log of its container. */
  #diskUse(uid: PodUid): PodDiskUse {
    const { pod, diskBytes = 0, inodes = 0 } = this.pods.get(uid) ?? {};
    const tree = { usedBytes: diskBytes, inodesUsed: inodes };
    const volume = pod?.spec.volumes?.[0]?.name;
    const container = pod?.spec.containers[0]?.name ?? '';
    return {
      layers: new Map([[container, NOTHING]]),
      logs: new Map([[container, volume === undefined ? tree : NOTHING]]),
      volumes: volume === undefined ? new Map() : new Map([[volume, tree]]),
      total: tree,
    };
  }
}
