import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { FsStats, FsUse, RuntimeDiskStats, TreeUse } from '../../ports/stats.ts';
import type { VolumeUsage } from '../../ports/volume-plugin.ts';
import type { MeasuredPod } from './pod-groups.ts';

/** A volume of a pod, and how its usage is measured. */
export interface MeasuredVolume {
  readonly name: string;
  readonly path: string;
  /**
   * `tree`: by its files. `fileSystem`: it is a file system. `remote`: it is a file system that may not respond. A
   * function asks another program.
   */
  readonly how: 'tree' | 'fileSystem' | 'remote' | { ask: () => Promise<VolumeUsage | undefined>; source: string };
  /** Whether the volume counts against the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  readonly claim?: { name: string; namespace: string };
}

export interface VolumeFact {
  readonly volume: MeasuredVolume;
  readonly usage: VolumeUsage;
  readonly atMs: number;
}

export interface PodDiskFacts {
  /** The files of the pod in its log folder. */
  readonly ownLogs: TreeUse | undefined;
  readonly logs: ReadonlyMap<string, TreeUse>;
  /**
   * The hosts file and the termination messages. The agent creates them, and the pod can write to them (CVE-2020-8557).
   */
  readonly ownFiles: readonly TreeUse[];
}

export interface DiskFactsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly fs: FsStats;
  readonly runtime: RuntimeDiskStats;
  readonly rootDir: string;
  readonly logFolder: (pod: MeasuredPod) => string;
  /** Returns the names in a folder; none if it is missing. */
  readonly list: (path: string) => Promise<readonly string[]>;
  readonly volumes: (uid: string) => readonly MeasuredVolume[];
  /** The interval of measuring volumes; 0 or less means that they are not measured. */
  readonly volumePeriodMs: number;
  /** Called after a volume was measured, with upstream's name of the method (`du`, `statfs`, a CSI driver). */
  readonly onMeasured?: (source: string, durationMs: number) => void;
}

/** The maximum age of values that are cheap to measure. */
const QUICK_AGE_MS = 10_000;
/** How long the first response waits for the disks. */
const FIRST_WAIT_MS = 2000;
const TREE_LIMIT_MS = 60_000;

/**
 * Measures disk usage in the background and never within a request. If a disk hangs, figures become old, but responses
 * are not late. Nothing is measured without requests.
 */
export class DiskFacts {
  readonly #options: DiskFactsOptions;
  rootFs: (FsUse & { device: string }) | undefined;
  imageFs: { fs: FsUse & { device: string }; used: TreeUse } | undefined;
  layers: ReadonlyMap<string, TreeUse> = new Map();
  readonly pods = new Map<string, PodDiskFacts>();
  readonly volumes = new Map<string, readonly VolumeFact[]>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #doneAtMs = new Map<string, number>();

  constructor(options: DiskFactsOptions) {
    this.#options = options;
  }

  /** Starts measurements that are due. It waits only for the very first round, and briefly. */
  async ask(pods: readonly MeasuredPod[]): Promise<void> {
    const { clock, volumePeriodMs } = this.#options;
    this.#retain(pods);
    const rounds = [
      this.#keepFresh('disks', QUICK_AGE_MS, () => this.#measureDisks()),
      this.#keepFresh('logs', QUICK_AGE_MS, () => this.#measureLogs(pods)),
    ];
    if (volumePeriodMs > 0) rounds.push(this.#keepFresh('volumes', volumePeriodMs, () => this.#measureVolumes(pods)));
    if (rounds.every((round) => round === undefined)) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(FIRST_WAIT_MS, resolve);
      void Promise.all(rounds).then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /**
   * Measures now, and waits for, what these pods have on the node's own disks: writable layers, logs, local volumes. It
   * is for decisions that must not use old figures. It never rejects: what cannot be measured is missing.
   */
  async measureLocal(pods: readonly MeasuredPod[]): Promise<void> {
    const { runtime } = this.#options;
    await Promise.all([
      this.#tolerant('writable layers', async () => (this.layers = await runtime.writableLayers())),
      this.#measureLogs(pods),
      this.#measureVolumes(pods, ({ how }) => how === 'tree'),
    ]);
  }

  /** Starts a measurement if the last one is too old. Returns the round to wait for, which is only the first one. */
  #keepFresh(what: string, maxAgeMs: number, measure: () => Promise<void>): Promise<void> | undefined {
    const doneAtMs = this.#doneAtMs.get(what);
    const isDue = doneAtMs === undefined || this.#options.clock.monotonicMs() - doneAtMs >= maxAgeMs;
    if (isDue && !this.#running.has(what)) this.#running.set(what, this.#round(what, measure));
    return doneAtMs === undefined ? this.#running.get(what) : undefined;
  }

  async #round(what: string, measure: () => Promise<void>): Promise<void> {
    await this.#tolerant(what, measure);
    this.#doneAtMs.set(what, this.#options.clock.monotonicMs());
    this.#running.delete(what);
  }

  async #tolerant<T>(what: string, measure: () => Promise<T>): Promise<T | undefined> {
    try {
      return await measure();
    } catch (error) {
      this.#options.log.debug(2, 'a part of the statistics of disks is missing', { what, error: errorMessage(error) });
      return undefined;
    }
  }

  async #measureDisks(): Promise<void> {
    const { runtime, rootDir } = this.#options;
    await Promise.all([
      this.#tolerant('root file system', async () => (this.rootFs = await this.#fileSystem(rootDir))),
      this.#tolerant('writable layers', async () => (this.layers = await runtime.writableLayers())),
      this.#tolerant('image file system', async () => {
        const used = await runtime.imageFs();
        if (used !== undefined) this.imageFs = { fs: await this.#fileSystem(used.mountpoint), used };
      }),
    ]);
  }

  async #fileSystem(path: string): Promise<FsUse & { device: string }> {
    const { fs } = this.#options;
    const [use, device] = await Promise.all([fs.fileSystem(path), fs.device(path)]);
    return { ...use, device };
  }

  /** The pods are measured one after another, because it is not urgent. */
  async #measureLogs(pods: readonly MeasuredPod[]): Promise<void> {
    const { fs, logFolder, rootDir } = this.#options;
    for (const pod of pods) {
      const folder = logFolder(pod);
      const logs = new Map<string, TreeUse>();
      const ownFiles: TreeUse[] = [];
      const keep = (use: TreeUse | undefined): void => void (use !== undefined && ownFiles.push(use));
      for (const { name } of pod.containers) {
        const tree = await this.#tolerant('logs', () => this.#files(`${folder}/${name}`));
        if (tree !== undefined) logs.set(name, tree);
        keep(
          await this.#tolerant('termination messages', () =>
            this.#files(`${rootDir}/pods/${pod.uid}/containers/${name}`),
          ),
        );
      }
      keep(await this.#tolerant('etc-hosts', () => fs.tree(`${rootDir}/pods/${pod.uid}/etc-hosts`, TREE_LIMIT_MS)));
      this.pods.set(pod.uid, { logs, ownLogs: undefined, ownFiles });
    }
  }

  /** Measures the files directly in a folder. */
  async #files(folder: string): Promise<TreeUse> {
    const { fs, list, clock } = this.#options;
    const sum = { atMs: clock.nowMs(), usedBytes: 0, inodesUsed: 0 };
    for (const name of await list(folder)) {
      const { usedBytes, inodesUsed } = await fs.tree(`${folder}/${name}`, TREE_LIMIT_MS);
      sum.usedBytes += usedBytes;
      sum.inodesUsed += inodesUsed;
    }
    return sum;
  }

  /** Measures the volumes of a pod one after another, so that a volume that hangs delays only its own pod. */
  async #measureVolumes(
    pods: readonly MeasuredPod[],
    concerns: (volume: MeasuredVolume) => boolean = () => true,
  ): Promise<void> {
    await Promise.all(
      pods.map(async ({ uid }) => {
        const facts = (this.volumes.get(uid) ?? []).filter(({ volume }) => !concerns(volume));
        for (const volume of this.#options.volumes(uid).filter(concerns)) {
          const usage = await this.#tolerant(`volume ${volume.name}`, () => this.#observedMeasure(volume));
          if (usage !== undefined) facts.push({ volume, usage, atMs: this.#options.clock.nowMs() });
        }
        this.volumes.set(uid, facts);
      }),
    );
  }

  async #observedMeasure(volume: MeasuredVolume): Promise<VolumeUsage | undefined> {
    const { clock, onMeasured } = this.#options;
    const startMs = clock.monotonicMs();
    try {
      return await this.#measureVolume(volume);
    } finally {
      onMeasured?.(
        typeof volume.how === 'object' ? volume.how.source : volume.how === 'tree' ? 'du' : 'statfs',
        clock.monotonicMs() - startMs,
      );
    }
  }

  async #measureVolume({ how, path }: MeasuredVolume): Promise<VolumeUsage | undefined> {
    const { fs } = this.#options;
    if (typeof how === 'object') return how.ask();
    const use = how === 'remote' ? await fs.remoteFileSystem(path) : await fs.fileSystem(path);
    const own =
      how === 'tree'
        ? await fs.tree(path, TREE_LIMIT_MS)
        : { usedBytes: use.capacityBytes - use.freeBytes, inodesUsed: use.inodes - use.inodesFree };
    return {
      capacityBytes: use.capacityBytes,
      availableBytes: use.availableBytes,
      inodes: use.inodes,
      inodesFree: use.inodesFree,
      usedBytes: own.usedBytes,
      inodesUsed: own.inodesUsed,
    };
  }

  #retain(pods: readonly MeasuredPod[]): void {
    const uids = new Set(pods.map(({ uid }) => uid));
    for (const facts of [this.pods, this.volumes])
      for (const uid of facts.keys()) if (!uids.has(uid)) facts.delete(uid);
  }
}
