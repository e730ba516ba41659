import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { volumeEvents } from '../../../api/reasons.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import { withDeadline, type Clock, type Timer } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Blocker } from '../../model/explanation.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { MountedVolume, PodVolumes } from '../../model/pod-volumes.ts';
import type { ClusterKind } from '../../ports/cluster-objects.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { FoundVolume, PodFolders } from './pod-folders.ts';
import { OPERATION_BACKOFF, initialVolumeState, nextVolumeState, usableVolume, volumeBlocker, type VolumeEvent, type VolumeState } from './volume-state.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export interface VolumeManagerOptions {
  folders: PodFolders;
  makeDirectory: (path: string, mode: number) => Promise<void>;
  plugins: readonly VolumePlugin[];
  clock: Clock;
  log: Logger;
  recorder: EventRecorder;
}

interface VolumeEntry {
  volume: Volume;
  plugin: VolumePlugin | undefined;
  path: string;
  state: VolumeState;
  timer: Timer | undefined;
  /** The attempt under way. It may hang; nobody but tearDown waits for it. */
  attempt: Promise<void>;
}

interface PodEntry {
  pod: Pod;
  volumes: Map<string, VolumeEntry>;
  /** Called whenever a volume became usable. */
  waiters: Set<() => void>;
  /** The pod is being stopped: what is mounted stays as it is. */
  ending: boolean;
  gone: AbortController;
}

/** Upstream: volume_manager.go, podAttachAndMountTimeout. */
const WAIT_LIMIT_MS = 123_000;
/** An attempt that takes longer is reported as not answering. */
const SLOW_MS = 30_000;
/** How long tearDown waits for an attempt that hangs, and for the unmounts. */
const TEAR_DOWN_LIMIT_MS = 120_000;
const POD_FOLDER_MODE = 0o750;

/**
 * The volumes of all pods: desired (what `ensure` was told) and actual (the state of each).
 * 1. At most one operation per volume at any time, a hanging one included; different volumes and pods never wait for each other.
 * 2. A volume that cannot be made is tried again by its own back-off, and at once when an object it needs appears or changes.
 * 3. A mounted volume stays usable while its refresh fails.
 * 4. After `tearDown` began nothing new is made for that pod until it is done.
 */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #pods = new Map<PodUid, PodEntry>();
  readonly #tearingDown = new Map<PodUid, Promise<void>>();
  /** Volumes seen at start and not yet asked for. */
  #found = new Map<PodUid, FoundVolume[]>();
  #orphansLeft = 0;
  /** Orphans that did not go: not before this monotonic time again, however often housekeeping comes by. */
  readonly #orphanRetry = new Map<PodUid, { failures: number; notBeforeMs: number; error: string }>();

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
  }

  /**
   * Looks at what an earlier run left on disk, which spares `ensure` a look at the mounts. Resolves to the pods that have a folder. Never
   * rejects: with a folder that cannot be read nothing is known beforehand, and each volume asks the mount table before it mounts.
   */
  async reconstruct(): Promise<ReadonlySet<PodUid>> {
    try {
      this.#found = await this.#options.folders.findVolumes();
    } catch (error) {
      this.#options.log.error('the folder of all pods cannot be read; the agent goes on, and running pods are left as they are', { error: errorMessage(error) });
      this.#found = new Map();
    }
    return new Set(this.#found.keys());
  }

  /**
   * Resolves as soon as all volumes of the pod are ready; at once when they are already. Failures are retried inside: it rejects only with
   * Aborted (signal, or the pod is torn down), or Timeout after 2 min 3 s with upstream's message, after which it may be called again.
   */
  async ensure(pod: Pod, signal?: AbortSignal): Promise<PodVolumes> {
    const uid = podUid(pod.metadata.uid);
    await this.#tearingDown.get(uid);
    const entry = this.#adopt(uid, pod);
    for (const volume of entry.volumes.values()) if (volume.state.phase === 'waiting' && volume.timer === undefined) this.#begin(entry, volume);
    const ready = readyVolumes(entry);
    if (ready !== undefined) return ready;
    return this.#wait(entry, signal);
  }

  /** What is ready now, without waiting. */
  volumesOf(uid: PodUid): PodVolumes {
    const found = new Map<string, MountedVolume>();
    for (const [name, { state }] of this.#pods.get(uid)?.volumes ?? []) {
      const usable = usableVolume(state);
      if (usable !== undefined) found.set(name, usable);
    }
    return found;
  }

  blockers(uid: PodUid): Blocker[] {
    return [...(this.#pods.get(uid)?.volumes ?? [])].map(([name, { state }]) => volumeBlocker(name, state)).filter((blocker) => blocker !== undefined);
  }

  /** An object appeared, changed or vanished: volumes that show it are refreshed, those that wait for it are tried at once. */
  objectChanged(kind: ClusterKind, namespace: string, name: string): void {
    for (const entry of this.#pods.values()) {
      if (namespace !== '' && entry.pod.metadata.namespace !== namespace) continue;
      for (const volume of entry.volumes.values()) {
        const shown = volume.plugin?.objectsOf(volume.volume).some((object) => object.kind === kind && object.name === name) === true;
        if (shown) this.#refresh(entry, volume);
      }
    }
  }

  /** The pod is being stopped: its mounted volumes follow their objects no more, so that objects removed with the pod are no failure. */
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

  /** Unmounts and removes all of the pod's folder. Idempotent; calls for one pod are one. Rejects when something does not let go: call again. */
  tearDown(uid: PodUid): Promise<void> {
    const before = this.#tearingDown.get(uid);
    if (before !== undefined) return before;
    const work = this.#tearDown(uid).finally(() => this.#tearingDown.delete(uid));
    // Those who wait for it in `ensure` get its error too; nobody waiting is no reason to end the process.
    work.catch((error: unknown) => this.#options.log.debug(2, 'volumes are not torn down yet', { podUID: uid, error: errorMessage(error) }));
    this.#tearingDown.set(uid, work);
    return work;
  }

  /** Removes folders of pods that nobody knows; `known` must hold the running ones too. Resolves to how many are left, said only when that changes. */
  async cleanupOrphans(known: Pick<ReadonlySet<PodUid>, 'has'>): Promise<number> {
    const orphans = (await this.#options.folders.list()).filter((uid) => !known.has(uid) && !this.#pods.has(uid));
    await Promise.all(orphans.map((uid) => this.#removeOrphan(uid)));
    for (const uid of [...this.#orphanRetry.keys()]) if (!orphans.includes(uid)) this.#orphanRetry.delete(uid);
    const left = this.#orphanRetry.size;
    if (left !== this.#orphansLeft) {
      this.#orphansLeft = left;
      const [first] = this.#orphanRetry.values();
      if (first !== undefined) this.#options.log.warn('folders of vanished pods cannot be removed', { count: left, error: first.error });
      else this.#options.log.info('all folders of vanished pods are removed');
    }
    return left;
  }

  /** Leaves the node as it is: pods live on. Cancels what waits; attempts under way end by themselves. */
  stop(): void {
    for (const entry of this.#pods.values()) this.#release(entry);
    this.#pods.clear();
  }

  async #removeOrphan(uid: PodUid): Promise<void> {
    const { clock } = this.#options;
    const before = this.#orphanRetry.get(uid);
    if (before !== undefined && clock.monotonicMs() < before.notBeforeMs) return;
    try {
      await this.tearDown(uid);
      this.#orphanRetry.delete(uid);
    } catch (error) {
      const failures = (before?.failures ?? 0) + 1;
      this.#orphanRetry.set(uid, { failures, notBeforeMs: clock.monotonicMs() + backoffDelayMs(OPERATION_BACKOFF, failures), error: errorMessage(error) });
    }
  }

  #adopt(uid: PodUid, pod: Pod): PodEntry {
    const entry = this.#pods.get(uid) ?? { pod, volumes: new Map<string, VolumeEntry>(), waiters: new Set<() => void>(), ending: false, gone: new AbortController() };
    const before = entry.pod;
    const fresh = (pod.spec.volumes ?? []).filter((volume) => !entry.volumes.has(volume.name)).map((volume) => this.#newVolume(uid, volume));
    // Only now, when every name has proven to be safe.
    entry.pod = pod;
    this.#pods.set(uid, entry);
    const known = [...entry.volumes.values()];
    for (const volume of fresh) entry.volumes.set(volume.volume.name, volume);
    if (before !== pod && !sameMetadata(before, pod)) for (const volume of known) if (volume.plugin?.followsPod(volume.volume) === true) this.#refresh(entry, volume);
    return entry;
  }

  #newVolume(uid: PodUid, volume: Volume): VolumeEntry {
    const plugin = this.#options.plugins.find((one) => one.supports(volume));
    const path = plugin === undefined ? '' : this.#options.folders.volumePath(uid, plugin.folder, volume.name);
    return { volume, plugin, path, state: initialVolumeState(this.#options.clock.nowMs()), timer: undefined, attempt: Promise.resolve() };
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

  /** Never rejects. */
  async #attempt(entry: PodEntry, volume: VolumeEntry): Promise<void> {
    const slow = this.#options.clock.setTimer(SLOW_MS, () => {
      this.#step(volume, { kind: 'slow' });
      this.#report(entry, volume, `no answer within ${SLOW_MS / 1000} s`);
    });
    try {
      const mounted = await this.#setUp(entry, volume);
      this.#step(volume, { kind: 'succeeded', mounted });
    } catch (error) {
      this.#step(volume, { kind: 'failed', error: failureText(volume.volume.name, errorMessage(error)) });
      if (!entry.gone.signal.aborted) this.#report(entry, volume, errorMessage(error));
    } finally {
      slow.cancel();
    }
    if (entry.gone.signal.aborted) return;
    this.#goOn(entry, volume);
  }

  async #setUp(entry: PodEntry, volume: VolumeEntry): Promise<MountedVolume> {
    const { plugin, path } = volume;
    if (plugin === undefined) throw new KubeletError('Unimplemented', `volume kind ${kindOf(volume.volume)} is not yet honoured`);
    const uid = podUid(entry.pod.metadata.uid);
    const found = this.#found.get(uid)?.find((one) => one.path === path);
    const again = usableVolume(volume.state) !== undefined;
    const firstAttempt = !again && volume.state.phase === 'working' && volume.state.failures === 0;
    // What was seen at start is believed once; after a failure the mount table is asked.
    const mounted = firstAttempt && found?.mounted === true ? true : undefined;
    if (plugin.folder !== 'kubernetes.io~host-path' && !again) await this.#options.makeDirectory(`${this.#options.folders.podPath(uid)}/volumes/${plugin.folder}`, POD_FOLDER_MODE);
    return plugin.setUp({ pod: entry.pod, volume: volume.volume, path, mounted });
  }

  #goOn(entry: PodEntry, volume: VolumeEntry): void {
    const { state } = volume;
    if (entry.ending && usableVolume(state) !== undefined) return;
    if (state.phase === 'waiting') {
      const { clock } = this.#options;
      if (state.retryAtMs === undefined) this.#begin(entry, volume);
      else volume.timer = clock.setTimer(state.retryAtMs - clock.nowMs(), () => this.#begin(entry, volume));
    }
    for (const wake of [...entry.waiters]) wake();
  }

  #report(entry: PodEntry, volume: VolumeEntry, error: string): void {
    this.#options.recorder.event(entry.pod, 'Warning', volumeEvents.failedMount, failureText(volume.volume.name, error));
  }

  async #wait(entry: PodEntry, signal: AbortSignal | undefined): Promise<PodVolumes> {
    const stop = signal === undefined ? entry.gone.signal : AbortSignal.any([signal, entry.gone.signal]);
    let wake = (): void => undefined;
    let abort = (): void => undefined;
    try {
      return await withDeadline({ clock: this.#options.clock, limitMs: WAIT_LIMIT_MS, op: 'wait for volumes' }, () =>
        new Promise<PodVolumes>((resolve, reject) => {
          wake = () => {
            const ready = readyVolumes(entry);
            if (ready !== undefined) resolve(ready);
          };
          abort = () => reject(new KubeletError('Aborted', 'the wait for volumes was aborted'));
          entry.waiters.add(wake);
          if (stop.aborted) abort();
          else stop.addEventListener('abort', abort, { once: true });
        }),
      );
    } catch (error) {
      if (error instanceof KubeletError && error.kind === 'Timeout') {
        const unmounted = [...entry.volumes.values()].filter(({ state }) => usableVolume(state) === undefined).map(({ volume }) => volume.name);
        throw new KubeletError('Timeout', `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`, { op: 'wait for volumes', cause: error });
      }
      throw error;
    } finally {
      entry.waiters.delete(wake);
      stop.removeEventListener('abort', abort);
    }
  }

  async #tearDown(uid: PodUid): Promise<void> {
    const entry = this.#pods.get(uid);
    this.#found.delete(uid);
    const work = async (): Promise<void> => {
      if (entry !== undefined) {
        this.#release(entry);
        await Promise.all([...entry.volumes.values()].map((volume) => volume.attempt));
      }
      await this.#options.folders.remove(uid);
      this.#pods.delete(uid);
    };
    await withDeadline({ clock: this.#options.clock, limitMs: TEAR_DOWN_LIMIT_MS, op: `tear down the volumes of pod ${uid}` }, work);
  }

  #release(entry: PodEntry): void {
    entry.gone.abort();
    for (const volume of entry.volumes.values()) {
      volume.timer?.cancel();
      volume.timer = undefined;
    }
  }
}

const failureText = (name: string, error: string): string => `MountVolume.SetUp failed for volume "${name}" : ${error}`;

function readyVolumes(entry: PodEntry): PodVolumes | undefined {
  const ready = new Map<string, MountedVolume>();
  for (const volume of entry.pod.spec.volumes ?? []) {
    const state = entry.volumes.get(volume.name)?.state;
    const usable = state === undefined ? undefined : usableVolume(state);
    if (usable === undefined) return undefined;
    ready.set(volume.name, usable);
  }
  return ready;
}

/** The field of the volume that says what it is. */
function kindOf(volume: Volume): string {
  return Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[0] ?? 'unknown';
}

function sameMetadata(left: Pod, right: Pod): boolean {
  const text = (pod: Pod): string => JSON.stringify([pod.metadata.labels, pod.metadata.annotations]);
  return text(left) === text(right);
}
