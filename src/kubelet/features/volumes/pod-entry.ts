import type { VolumeChange } from '../../ports/volume-plugin.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import type { MountedVolume, PodVolumes } from '../../model/pod-volumes.ts';
import { claimNameOf, volumeUses } from './resolve-volume.ts';
import type { Resolved } from './set-up-volume.ts';
import type { VolumeState } from './volume-state.ts';
import { usableVolume } from './volume-state.ts';

/** The time limit of the wait for volumes (upstream: volume_manager.go, podAttachAndMountTimeout). */
const WAIT_LIMIT_MS = 123_000;

export interface VolumeEntry {
  readonly volume: Volume;
  /** The resolved volume; undefined until its claim is bound and a plugin supports it. */
  resolved: Resolved | undefined;
  state: VolumeState;
  timer: Timer | undefined;
  /** The running attempt. It may hang; only tearDown waits for it. */
  attempt: Promise<void>;
  /** Whether its content does not change any more. */
  settled: boolean;
  /** Whether it waits to be attached to the node. */
  unattached: boolean;
}

export interface PodEntry {
  readonly uid: PodUid;
  pod: Pod;
  readonly volumes: Map<string, VolumeEntry>;
  /**
   * The running operations by volume. Two volumes of a pod may be the same one (the same claim), so their operations
   * run one after another.
   */
  readonly queues: Map<string, Promise<unknown>>;
  /** Called whenever a volume has become usable. */
  readonly waiters: Set<() => void>;
  /** Whether the pod is being stopped. Mounted volumes then do not change any more. */
  ending: boolean;
  readonly gone: AbortController;
}

/**
 * Waits until all volumes are ready. Rejects with Aborted (signal, or the pod is torn down), or with Timeout in
 * upstream's words.
 */
export async function waitForVolumes(
  entry: PodEntry,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<PodVolumes> {
  const stop = signal === undefined ? entry.gone.signal : AbortSignal.any([signal, entry.gone.signal]);
  let wake = (): void => undefined;
  let abort = (): void => undefined;
  try {
    return await withDeadline(
      { clock, limitMs: WAIT_LIMIT_MS, op: 'wait for volumes' },
      () =>
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
    throw isKind(error, 'Timeout') ? tooLate(entry, error) : error;
  } finally {
    entry.waiters.delete(wake);
    stop.removeEventListener('abort', abort);
  }
}

function tooLate(entry: PodEntry, cause: unknown): KubeletError {
  const missing = [...entry.volumes.values()].filter(({ state }) => usableVolume(state) === undefined);
  const namesOf = (list: readonly VolumeEntry[]): string => list.map(({ volume }) => volume.name).join(' ');
  const unprocessed = missing.filter(({ resolved }) => resolved === undefined);
  return new KubeletError(
    'Timeout',
    `unmounted volumes=[${namesOf(missing)}], unattached volumes=[${namesOf(missing.filter(({ unattached }) => unattached))}], failed to process volumes=[${namesOf(unprocessed)}]: context deadline exceeded`,
    { op: 'wait for volumes', cause },
  );
}

/** Returns the volumes that containers use. Others are not set up. */
export function usedVolumes(pod: Pod): Volume[] {
  const { mounts, devices } = volumeUses(pod);
  return (pod.spec.volumes ?? []).filter(({ name }) => mounts.has(name) || devices.has(name));
}

/** Returns the ready volumes, or undefined while one is missing. */
export function readyVolumes(entry: PodEntry): PodVolumes | undefined {
  const ready = new Map<string, MountedVolume>();
  for (const { name } of usedVolumes(entry.pod)) {
    const state = entry.volumes.get(name)?.state;
    const usable = state === undefined ? undefined : usableVolume(state);
    if (usable === undefined) return undefined;
    ready.set(name, usable);
  }
  return ready;
}

/**
 * Whether the change concerns the volume. An unbound claim waits for any claim or PersistentVolume, because binding one
 * may free or take another.
 */
export function concerns(change: VolumeChange, pod: Pod, { volume, resolved }: VolumeEntry): boolean {
  const claimed = claimNameOf(pod, volume);
  const isClaim = change.kind === 'PersistentVolumeClaim' && change.namespace === pod.metadata.namespace;
  if (resolved === undefined) return claimed !== undefined && (isClaim || change.kind === 'PersistentVolume');
  if (isClaim && change.name === claimed) return true;
  if (change.kind === 'PersistentVolume' && resolved.spec.kind === 'persistent' && change.name === resolved.spec.name)
    return true;
  return (
    resolved.plugin
      .objectsOf?.(resolved.spec, pod)
      .some(
        ({ kind, namespace, name }) => kind === change.kind && namespace === change.namespace && name === change.name,
      ) === true
  );
}

export function sameMetadata(left: Pod, right: Pod): boolean {
  const text = (pod: Pod): string => JSON.stringify([pod.metadata.labels, pod.metadata.annotations]);
  return text(left) === text(right);
}
