import type { VolumeChange } from '../../ports/volume-plugin.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { volumeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Blocker } from '../../../api/explanation/explanation.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { MountedVolume, PodVolumes } from '../../model/pod-volumes.ts';
import { ReadWriteOncePodTracker } from './read-write-once-pod-tracker.ts';
import type { MeasurableVolume } from './measured-volumes.ts';
import { measurableVolumes } from './measured-volumes.ts';
import type { PodEntry, VolumeEntry } from './pod-entry.ts';
import { concerns, readyVolumes, sameMetadata, usedVolumes, waitForVolumes } from './pod-entry.ts';
import { OrphanFolders } from './orphan-folders.ts';
import type { FoundVolume } from './pod-folders.ts';
import type { Made, Resolved, SetUpParts } from './set-up-volume.ts';
import { failureText, makeVolume, resolveAny, resolveInline, NotAttached, SetUpFailed } from './set-up-volume.ts';
import type { TearDownParts } from './tear-down-pod.ts';
import { findStaged, identifyStaged, tearDownPod } from './tear-down-pod.ts';
import type { VolumeCounts, VolumeOperation } from './volume-operations.ts';
import { counted, qualifiedPlugin, observedOperation } from './volume-operations.ts';
import type { VolumeEvent } from './volume-state.ts';
import { initialVolumeState, nextVolumeState, usableVolume, volumeBlocker } from './volume-state.ts';

export interface VolumeManagerOptions extends SetUpParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly onOperation?: ((operation: VolumeOperation) => void) | undefined;
}

/** The time after which an attempt is reported as not responding. */
const SLOW_MS = 30_000;
/** The time that tearDown waits for a hung attempt, and for the unmounts. */
const TEAR_DOWN_LIMIT_MS = 120_000;

/**
 * Manages the volumes of all pods: their desired state (the calls of `ensure`) and their actual state. Invariants:
 * 1. There is at most one operation per volume at any time, including one that hangs. Volumes and pods do not wait for
 *    each other, unless they share one storage that is prepared once per node (`StagingArea`).
 * 2. A volume that cannot be set up is retried with its own back-off, and immediately when an object that it needs
 *    appears or changes.
 * 3. A mounted volume stays usable while its refresh fails.
 * 4. After `tearDown` began, nothing is set up for that pod until it has ended.
 */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #pods = new Map<PodUid, PodEntry>();
  readonly #tearingDown = new Map<PodUid, Promise<void>>();
  readonly #orphans: OrphanFolders;
  readonly #readWriteOncePod = new ReadWriteOncePodTracker();
  /** The volumes found at the start and not requested yet. */
  #found = new Map<PodUid, FoundVolume[]>();
  #reconstructed = 0;
  #orphanCounts = { found: 0, left: 0 };

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    this.#orphans = new OrphanFolders({
      clock: options.clock,
      log: options.log,
      tearDown: (uid) => this.tearDown(uid),
    });
  }

  /**
   * Scans what an earlier run left on disk, which saves `ensure` reading the mount table. Resolves to the pods that
   * have a folder. Never rejects: when a folder cannot be read nothing is known in advance, and each volume reads the
   * mount table before it mounts.
   */
  async reconstruct(): Promise<ReadonlySet<PodUid>> {
    const { folders, log } = this.#options;
    try {
      this.#found = await folders.findVolumes();
    } catch (error) {
      log.error('the folder of all pods cannot be read; the agent continues, and running pods are not changed', {
        error: errorMessage(error),
      });
      this.#found = new Map();
    }
    await Promise.all(
      [...this.#found].flatMap(([uid, volumes]) => volumes.map((volume) => identifyStaged(this.#parts(), uid, volume))),
    );
    this.#reconstructed = [...this.#found.values()].reduce((sum, volumes) => sum + volumes.length, 0);
    await findStaged(this.#parts());
    for (const [uid, volumes] of this.#found) for (const volume of volumes) this.#readWriteOncePod.found(volume, uid);
    return new Set(this.#found.keys());
  }

  /**
   * Resolves as soon as all volumes that containers of the pod use are ready; at once when they are already. Failures
   * are retried inside: it rejects only with Aborted (signal, or the pod is torn down), or Timeout after 2 min 3 s with
   * upstream's message, after which it may be called again.
   */
  async ensure(pod: Pod, signal?: AbortSignal): Promise<PodVolumes> {
    const uid = podUid(pod.metadata.uid);
    await this.#tearingDown.get(uid);
    const entry = this.#adopt(uid, pod);
    for (const volume of entry.volumes.values())
      if (volume.state.phase === 'waiting' && volume.timer === undefined) this.#begin(entry, volume);
    const ready = readyVolumes(entry);
    if (ready !== undefined) return ready;
    return waitForVolumes(entry, this.#options.clock, signal);
  }

  /** Returns what is ready now, without waiting. */
  volumesOf(uid: PodUid): PodVolumes {
    const found = new Map<string, MountedVolume>();
    for (const [name, { state }] of this.#pods.get(uid)?.volumes ?? []) {
      const usable = usableVolume(state);
      if (usable !== undefined) found.set(name, usable);
    }
    return found;
  }

  /**
   * Returns the unique names of the volumes that are prepared on this node and used by a pod (upstream:
   * node.status.volumesInUse).
   */
  volumesInUse(): string[] {
    return this.#options.staging.keysInUse();
  }

  /** Returns the ready volumes that use their own space, to be measured. */
  measurable(uid: PodUid): MeasurableVolume[] {
    const entry = this.#pods.get(uid);
    return entry === undefined ? [] : measurableVolumes(uid, entry);
  }

  /** Called when a volume may have been attached to the node: volumes that wait for that retry. */
  attachmentsChanged(): void {
    for (const entry of this.#pods.values())
      for (const volume of entry.volumes.values()) if (volume.unattached) this.#refresh(entry, volume);
  }

  counts(): VolumeCounts {
    const volumes = [...this.#pods.values()].flatMap((entry) => [...entry.volumes.values()]);
    const nameOf = ({ resolved }: VolumeEntry): string =>
      resolved === undefined ? 'N/A' : qualifiedPlugin(resolved.plugin.name, resolved.spec);
    return {
      desired: counted(volumes.map(nameOf)),
      actual: counted(volumes.filter(({ state }) => usableVolume(state) !== undefined).map(nameOf)),
      reconstructed: this.#reconstructed,
      orphans: this.#orphanCounts,
    };
  }

  blockers(uid: PodUid): Blocker[] {
    return [...(this.#pods.get(uid)?.volumes ?? [])]
      .map(([name, { state }]) => volumeBlocker(name, state))
      .filter((blocker) => blocker !== undefined);
  }

  /**
   * Called when an object appeared, changed or vanished. Volumes that show it are refreshed, and those that wait for it
   * are tried at once.
   */
  objectChanged(change: VolumeChange): void {
    for (const entry of this.#pods.values()) {
      for (const volume of entry.volumes.values())
        if (!volume.settled && concerns(change, entry.pod, volume)) this.#refresh(entry, volume);
    }
  }

  /**
   * Called when the pod is being stopped. Its mounted volumes no longer follow their objects, so that objects removed
   * with the pod are not a failure.
   */
  podEnds(uid: PodUid): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    entry.ending = true;
    for (const volume of entry.volumes.values()) {
      if (usableVolume(volume.state) === undefined) continue;
      volume.timer?.cancel();
      volume.timer = undefined;
    }
  }

  /**
   * Tears down and removes the pod's whole folder. Idempotent; concurrent calls for one pod are merged. Rejects when
   * something cannot be released: call again.
   */
  tearDown(uid: PodUid): Promise<void> {
    const before = this.#tearingDown.get(uid);
    if (before !== undefined) return before;
    const work = this.#tearDown(uid).finally(() => this.#tearingDown.delete(uid));
    // Callers of `ensure` get its error too; without callers the rejection must not end the process.
    work.catch((error: unknown) =>
      this.#options.log.debug(2, 'volumes are not torn down yet', { podUID: uid, error: errorMessage(error) }),
    );
    this.#tearingDown.set(uid, work);
    return work;
  }

  /**
   * Removes folders of unknown pods, and what they left on the node; `known` must include the running ones. Resolves to
   * the number of folders left, logged only when that changes.
   */
  async cleanupOrphans(known: Pick<ReadonlySet<PodUid>, 'has'>): Promise<number> {
    const found = (await this.#options.folders.list()).filter((uid) => !known.has(uid) && !this.#pods.has(uid));
    const left = await this.#orphans.remove(found);
    this.#orphanCounts = { found: found.length, left };
    this.#options.staging.collect();
    return left;
  }

  /**
   * Makes the next attempts to remove volumes skip their back-off, because the cause may be resolved (a driver
   * registered).
   */
  undoAgain(): void {
    this.#orphans.retryNow();
    this.#options.staging.retryNow();
  }

  /**
   * Stops without changes to the node: pods keep running. Cancels waiting callers; running attempts end on their own.
   */
  stop(): void {
    for (const entry of this.#pods.values()) this.#release(entry);
    this.#pods.clear();
    this.#options.staging.stop();
  }

  #parts(): TearDownParts {
    return this.#options;
  }

  #adopt(uid: PodUid, pod: Pod): PodEntry {
    const entry = this.#pods.get(uid) ?? {
      uid,
      pod,
      volumes: new Map<string, VolumeEntry>(),
      queues: new Map<string, Promise<unknown>>(),
      waiters: new Set<() => void>(),
      ending: false,
      gone: new AbortController(),
    };
    const before = entry.pod;
    const fresh = usedVolumes(pod)
      .filter((volume) => !entry.volumes.has(volume.name))
      .map((volume) => this.#newVolume(pod, volume));
    // The pod is stored only after every name was checked.
    entry.pod = pod;
    this.#pods.set(uid, entry);
    const known = [...entry.volumes.values()];
    for (const volume of fresh) entry.volumes.set(volume.volume.name, volume);
    if (before !== pod && !sameMetadata(before, pod))
      for (const volume of known)
        if (volume.resolved?.plugin.followsPod?.(volume.resolved.spec) === true) this.#refresh(entry, volume);
    return entry;
  }

  #newVolume(pod: Pod, volume: Volume): VolumeEntry {
    return {
      volume,
      resolved: resolveInline(this.#options, pod, volume),
      state: initialVolumeState(this.#options.clock.nowMs()),
      timer: undefined,
      attempt: Promise.resolve(),
      settled: false,
      unattached: false,
    };
  }

  #refresh(entry: PodEntry, volume: VolumeEntry): void {
    if (entry.ending) return;
    this.#step(volume, { kind: 'changed' });
    if (volume.state.phase === 'waiting') this.#begin(entry, volume);
  }

  #step(volume: VolumeEntry, event: VolumeEvent): void {
    volume.state = nextVolumeState(volume.state, event, this.#options.clock.nowMs());
  }

  #begin(entry: PodEntry, volume: VolumeEntry): void {
    volume.timer?.cancel();
    volume.timer = undefined;
    this.#step(volume, { kind: 'begin' });
    volume.attempt = this.#attempt(entry, volume);
  }

  /** Runs one attempt. It never rejects. */
  async #attempt(entry: PodEntry, volume: VolumeEntry): Promise<void> {
    const slow = this.#options.clock.setTimer(SLOW_MS, () => {
      this.#step(volume, { kind: 'slow' });
      const name = volume.resolved?.spec.name ?? volume.volume.name;
      this.#report(
        entry,
        volumeEvents.failedMount,
        failureText('MountVolume.SetUp failed', name, `no answer within ${SLOW_MS / 1000} s`),
      );
    });
    let againInMs: number | undefined;
    try {
      const made = await this.#make(entry, volume);
      againInMs = made.againInMs;
      volume.settled = made.settled;
      volume.unattached = false;
      this.#step(volume, { kind: 'succeeded', mounted: made.mounted });
    } catch (error) {
      this.#step(volume, { kind: 'failed', error: errorMessage(error) });
      volume.unattached = error instanceof NotAttached;
      if (!entry.gone.signal.aborted && !volume.unattached)
        this.#report(
          entry,
          error instanceof SetUpFailed ? error.reason : volumeEvents.failedMount,
          errorMessage(error),
        );
    } finally {
      slow.cancel();
    }
    if (entry.gone.signal.aborted) return;
    this.#goOn(entry, volume, againInMs);
  }

  async #make(entry: PodEntry, volume: VolumeEntry): Promise<Made> {
    const { pod, uid } = entry;
    const again = usableVolume(volume.state) !== undefined;
    // A volume in use does not change, whatever happened to its claim; inline specs never change.
    const resolved = await this.#resolve(pod, volume, again);
    volume.resolved = resolved;
    const { path } = resolved;
    this.#readWriteOncePod.use(resolved, uid);
    const firstAttempt = !again && volume.state.phase === 'working' && volume.state.failures === 0;
    // The scan at start is used once; after a failure the mount table is read.
    const mounted =
      firstAttempt && this.#found.get(uid)?.some((one) => one.path === path && one.mounted) === true ? true : undefined;
    const before = entry.queues.get(path);
    const what = {
      plugin: qualifiedPlugin(resolved.plugin.name, resolved.spec),
      name: resolved.spec.mode === 'Block' ? 'map_volume' : 'volume_mount',
    } as const;
    const make = (): Promise<Made> =>
      makeVolume(this.#options, pod, resolved, { again, mounted: before === undefined ? mounted : undefined });
    const work = (before ?? Promise.resolve()).then(() =>
      observedOperation(this.#options, what, make, (error) => error instanceof NotAttached),
    );
    entry.queues.set(
      path,
      work.catch(() => undefined),
    );
    return work;
  }

  async #resolve(pod: Pod, volume: VolumeEntry, again: boolean): Promise<Resolved> {
    if (volume.resolved?.spec.kind === 'inline') return volume.resolved;
    if (!again || volume.resolved === undefined) return resolveAny(this.#options, pod, volume.volume);
    try {
      const now = await resolveAny(this.#options, pod, volume.volume);
      if (now.path === volume.resolved.path) return now;
      this.#options.log.warn(
        'the claim of a volume in use is bound to another volume now; the pod keeps the one it has',
        {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          volume: volume.volume.name,
          kept: volume.resolved.spec.name,
          bound: now.spec.name,
        },
      );
      return volume.resolved;
    } catch (error) {
      this.#options.log.debug(2, 'the claim of a volume in use has changed', {
        volume: volume.volume.name,
        error: errorMessage(error),
      });
      return volume.resolved;
    }
  }

  #goOn(entry: PodEntry, volume: VolumeEntry, againInMs: number | undefined): void {
    const { state } = volume;
    if (!(entry.ending && usableVolume(state) !== undefined)) {
      const { clock } = this.#options;
      if (state.phase === 'mounted' && againInMs !== undefined)
        volume.timer = clock.setTimer(againInMs, () => this.#refresh(entry, volume));
      if (state.phase === 'waiting') {
        if (state.retryAtMs === undefined) this.#begin(entry, volume);
        else volume.timer = clock.setTimer(state.retryAtMs - clock.nowMs(), () => this.#begin(entry, volume));
      }
    }
    for (const wake of [...entry.waiters]) wake();
  }

  #report(entry: PodEntry, reason: string, message: string): void {
    this.#options.recorder.event(entry.pod, 'Warning', reason, message);
  }

  async #tearDown(uid: PodUid): Promise<void> {
    const entry = this.#pods.get(uid);
    this.#found.delete(uid);
    const work = async (): Promise<void> => {
      if (entry !== undefined) {
        this.#release(entry);
        await Promise.all([...entry.volumes.values()].map((volume) => volume.attempt));
      }
      const specs = new Map(
        [...(entry?.volumes.values() ?? [])].map(({ resolved }) => [resolved?.path, resolved?.spec]),
      );
      await tearDownPod({ ...this.#parts(), specAt: (path) => specs.get(path) }, uid);
      this.#pods.delete(uid);
      this.#readWriteOncePod.release(uid);
      for (const other of this.#pods.values())
        for (const volume of other.volumes.values())
          if (this.#readWriteOncePod.waits(volume.resolved)) this.#refresh(other, volume);
    };
    await withDeadline(
      { clock: this.#options.clock, limitMs: TEAR_DOWN_LIMIT_MS, op: `tear down the volumes of pod ${uid}` },
      work,
    );
  }

  #release(entry: PodEntry): void {
    entry.gone.abort();
    for (const volume of entry.volumes.values()) {
      volume.timer?.cancel();
      volume.timer = undefined;
    }
  }
}
