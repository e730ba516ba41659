import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { FsUse, GroupLimits, MachineIdentity, MemoryEvents, MemoryUse } from '../../ports/stats.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionSignal, Observation, SignalSource } from './signals.ts';

export type QuickSource = Extract<SignalSource, 'memory' | 'pids'>;
export type DiskSource = Exclude<SignalSource, QuickSource>;

/** The measurements of the node. */
export interface SignalSources {
  readonly groups: {
    memory(path: string): Pick<MemoryUse, 'workingSetBytes'> | undefined;
    limits(path: string): Pick<GroupLimits, 'memoryBytes'> | undefined;
    tasks(): { current: number; limit: number };
  };
  readonly fs: { fileSystem(path: string): Promise<FsUse>; device(path: string): Promise<string> };
  readonly runtime: {
    imageFs(): Promise<{ mountpoint: string } | undefined>;
    containerFs?(): Promise<{ mountpoint: string } | undefined>;
  };
  readonly machine: Pick<MachineIdentity, 'memoryBytes'>;
  readonly memoryEvents?: MemoryEvents;
}

export interface SignalReaderParts {
  readonly sources: SignalSources;
  /** The cgroup of all pods. It is undefined if pods have no cgroups of their own. */
  readonly podsGroup: string | undefined;
  readonly rootDir: string;
  /**
   * Whether containers may be on a separate file system. If false, they are assumed to be on that of images. The
   * default is true.
   */
  readonly separateDisks?: boolean;
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

export type Reading = readonly (readonly [EvictionSignal, Observation])[];

interface Disks {
  readonly layout: DiskLayout;
  readonly imagesAt: string;
  readonly containersAt: string;
}

/**
 * Reads the signals of one source. A signal that cannot be read is missing in the result, because an unknown amount is
 * no shortage. Memory and processes are read synchronously from kernel files; file systems take a thread of the pool.
 */
export class SignalReader {
  readonly #parts: SignalReaderParts;
  #disks: Disks | undefined;

  constructor(parts: SignalReaderParts) {
    this.#parts = parts;
  }

  /** The layout. It is undefined until the runtime has reported where it stores images. */
  get layout(): DiskLayout | undefined {
    return this.#disks?.layout;
  }

  /** Finds the layout by asking the runtime if necessary. It never rejects; the default is `shared`. */
  async findLayout(): Promise<DiskLayout> {
    try {
      this.#disks ??= await this.#lookAtDisks();
    } catch (error) {
      this.#parts.log.debug(2, 'the file system of images is not known', { error: errorMessage(error) });
    }
    return this.#disks?.layout ?? 'shared';
  }

  /** Reads signals from kernel files, which respond immediately. */
  readNow(source: QuickSource): Reading {
    return source === 'memory' ? this.#memory() : this.#pids();
  }

  /** Reads the signals of a disk. It never rejects. */
  async readDisk(source: DiskSource): Promise<Reading> {
    try {
      if (source === 'nodefs')
        return await this.#fileSystem(this.#parts.rootDir, ['nodefs.available', 'nodefs.inodesFree']);
      this.#disks ??= await this.#lookAtDisks();
      if (this.#disks === undefined) return [];
      return source === 'imagefs'
        ? await this.#fileSystem(this.#disks.imagesAt, ['imagefs.available', 'imagefs.inodesFree'])
        : await this.#fileSystem(this.#disks.containersAt, ['containerfs.available', 'containerfs.inodesFree']);
    } catch (error) {
      this.#parts.log.debug(2, 'an eviction signal cannot be read', { source, error: errorMessage(error) });
      return [];
    }
  }

  /**
   * Reads memory (upstream: helpers.go makeMemoryAvailableSignalObservation). Page cache that can be reclaimed counts
   * as available.
   */
  #memory(): Reading {
    const { sources, podsGroup, monotonicMs } = this.#parts;
    const atMs = monotonicMs();
    const readings: [EvictionSignal, Observation][] = [];
    const node = sources.groups.memory('/');
    const capacity = sources.machine.memoryBytes;
    if (node !== undefined)
      readings.push(['memory.available', { available: Math.max(0, capacity - node.workingSetBytes), capacity, atMs }]);
    const pods = podsGroup === undefined ? undefined : sources.groups.memory(podsGroup);
    const limit = podsGroup === undefined ? undefined : sources.groups.limits(podsGroup)?.memoryBytes;
    if (pods !== undefined && limit !== undefined && limit !== Infinity) {
      const available = Math.max(0, limit - pods.workingSetBytes);
      readings.push(['allocatableMemory.available', { available, capacity: available + pods.workingSetBytes, atMs }]);
    }
    return readings;
  }

  #pids(): Reading {
    const { current, limit } = this.#parts.sources.groups.tasks();
    if (limit === Infinity || Number.isNaN(current)) return [];
    return [['pid.available', { available: limit - current, capacity: limit, atMs: this.#parts.monotonicMs() }]];
  }

  async #fileSystem(path: string, [bytes, inodes]: readonly [EvictionSignal, EvictionSignal]): Promise<Reading> {
    const { sources, monotonicMs } = this.#parts;
    const use = await sources.fs.fileSystem(path);
    const atMs = monotonicMs();
    const space: Reading = [[bytes, { available: use.availableBytes, capacity: use.capacityBytes, atMs }]];
    // Some file systems have no fixed number of inodes and report 0 of 0.
    if (use.inodes === 0) return space;
    return [...space, [inodes, { available: use.inodesFree, capacity: use.inodes, atMs }]];
  }

  async #lookAtDisks(): Promise<Disks | undefined> {
    const { fs, runtime } = this.#parts.sources;
    const images = await runtime.imageFs();
    if (images === undefined) return undefined;
    const ofContainersFs = this.#parts.separateDisks === false ? undefined : await runtime.containerFs?.();
    const containersAt = ofContainersFs?.mountpoint ?? images.mountpoint;
    const [root, ofImages, ofContainers] = await Promise.all(
      [this.#parts.rootDir, images.mountpoint, containersAt].map((path) => fs.device(path)),
    );
    const layout = root === ofImages ? 'shared' : ofContainers === ofImages ? 'dedicated' : 'split';
    return { layout, imagesAt: images.mountpoint, containersAt };
  }
}
