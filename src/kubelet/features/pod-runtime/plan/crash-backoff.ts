import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import { allContainers } from '../../../../api/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import type { Clock } from '../../../../base/clock.ts';
import type { ContainerId } from '../../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { isDefinitionChanged } from './container-hash.ts';

/** The settings of the crash back-off (upstream: kubelet.go newCrashLoopBackOff). */
export interface CrashBackoffConfig {
  readonly initialMs: number;
  readonly maxMs: number;
  /** The duration of a healthy run. After a longer run, the delay starts over. */
  readonly resetAfterMs: number;
}

/**
 * Returns the settings: 10 s doubling to the node's `crashLoopBackOff.maxContainerRestartPeriod` (300 s). With the gate
 * ReduceDefaultCrashLoopBackOffDecay it starts at 1 s and, if no period is configured, ends at 60 s. A run of 600 s
 * resets it, whatever the maximum (upstream: kubelet.go newCrashLoopBackOff).
 */
export function crashBackoffConfig(periodMs?: number, reducedDecay = false): CrashBackoffConfig {
  const maxMs = periodMs ?? (reducedDecay ? 60_000 : 300_000);
  return {
    initialMs: Math.min(reducedDecay ? 1000 : 10_000, maxMs),
    maxMs,
    resetAfterMs: 600_000,
  };
}

/** All times are monotonic milliseconds, so that a stepped wall clock neither stretches nor skips a wait. */
export interface CrashEntry {
  /** The delay after the next crash. */
  readonly delayMs: number;
  readonly startedAtMs: number;
}

/**
 * Returns the remaining back-off after a run that ended at `finishedAtMs`, or undefined if the container may start now.
 */
function computeCrashWait(
  entry: CrashEntry | undefined,
  finishedAtMs: number,
  nowMs: number,
  config: CrashBackoffConfig,
): { waitMs: number; delayMs: number } | undefined {
  if (entry === undefined || isExpired(entry, finishedAtMs, config)) return undefined;
  const waitMs = finishedAtMs + entry.delayMs - nowMs;
  return waitMs <= 0 ? undefined : { waitMs, delayMs: entry.delayMs };
}

/**
 * Computes the entry after a container whose last run ended at `finishedAtMs` is started again at `nowMs` (upstream:
 * flowcontrol.Backoff Next).
 */
function computeNextCrash(
  entry: CrashEntry | undefined,
  finishedAtMs: number,
  nowMs: number,
  config: CrashBackoffConfig,
): CrashEntry {
  if (entry === undefined || isExpired(entry, finishedAtMs, config))
    return { delayMs: config.initialMs, startedAtMs: nowMs };
  return { delayMs: Math.min(config.maxMs, entry.delayMs * 2), startedAtMs: nowMs };
}

function isExpired(entry: CrashEntry, finishedAtMs: number, config: CrashBackoffConfig): boolean {
  return finishedAtMs - entry.startedAtMs > config.resetAfterMs;
}

/**
 * Derives the current delay of a container that a restarted agent finds. It uses the pause before the newest run, or
 * else the number of attempts. If in doubt the delay is longer, so that restarting the agent does not release a crash
 * loop. Runs are sorted newest first.
 */
export function deriveCrashDelayMs(
  runs: readonly ContainerRuntimeStatus[],
  config: CrashBackoffConfig,
): number | undefined {
  const [newest, previous] = runs;
  if (newest === undefined || newest.attempt === 0) return undefined;
  const byAttempts = Math.min(config.maxMs, config.initialMs * 2 ** Math.min(newest.attempt - 1, 30));
  if (previous === undefined || previous.finishedAtMs === 0 || newest.createdAtMs < previous.finishedAtMs)
    return byAttempts;
  const pauseMs = newest.createdAtMs - previous.finishedAtMs;
  if (pauseMs > config.maxMs) return byAttempts;
  let delayMs = config.initialMs;
  // A pause of one delay means that the next one is twice as long.
  while (delayMs <= pauseMs && delayMs < config.maxMs) delayMs = Math.min(config.maxMs, delayMs * 2);
  return Math.min(delayMs, byAttempts);
}

/**
 * Returns the key of a back-off. A change of image or resources starts a new one (upstream: kuberuntime/helpers.go
 * GetBackoffKey).
 */
export function crashKey(pod: Pod, container: AnyContainer): string {
  const { requests, limits } = container.resources ?? {};
  return [pod.metadata.uid, container.name, container.image ?? '', listText(requests), listText(limits)].join('/');
}

function listText(list: ResourceList | undefined): string {
  return Object.entries(list ?? {})
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, amount]) => `${name}=${amount}`)
    .join(',');
}

interface PodEntries {
  readonly entries: Map<string, CrashEntry>;
  readonly finishedAt: Map<ContainerId, number>;
  /** The run whose end resets the whole pod. It is set once the reset has begun. */
  resetFor?: ContainerId;
}

/**
 * The crash back-off of all containers of the node.
 * 1. Reading changes nothing except the time at which a finished run was first seen.
 * 2. The wall clock is read once per finished run, to determine how long ago it ended. From then on only monotonic time
 *    counts.
 */
export class CrashBackoff {
  readonly #clock: Clock;
  readonly #config: CrashBackoffConfig;
  readonly #pods = new Map<string, PodEntries>();

  constructor(clock: Clock, config: CrashBackoffConfig) {
    this.#clock = clock;
    this.#config = config;
  }

  wait(
    pod: Pod,
    container: AnyContainer,
    exited: ContainerRuntimeStatus,
  ): { waitMs: number; delayMs: number } | undefined {
    if (this.#pods.get(pod.metadata.uid)?.resetFor === exited.id) return undefined;
    const entry = this.#pods.get(pod.metadata.uid)?.entries.get(crashKey(pod, container));
    return computeCrashWait(entry, this.#finishedAt(pod, exited), this.#clock.monotonicMs(), this.#config);
  }

  /** Records that the container is about to be started after the run `exited`. The next delay is longer. */
  noteStart(pod: Pod, container: AnyContainer, exited: ContainerRuntimeStatus): void {
    const { entries } = this.#pod(pod.metadata.uid);
    const key = crashKey(pod, container);
    entries.set(
      key,
      computeNextCrash(entries.get(key), this.#finishedAt(pod, exited), this.#clock.monotonicMs(), this.#config),
    );
  }

  /**
   * Records that all containers of the pod are about to be reset because of the run `exited`. This counts as one
   * restart of its container. From now on this run has no back-off, so that a reset is not left incomplete.
   */
  noteReset(pod: Pod, container: AnyContainer, exited: ContainerRuntimeStatus): void {
    const known = this.#pod(pod.metadata.uid);
    if (known.resetFor === exited.id) return;
    this.noteStart(pod, container, exited);
    known.resetFor = exited.id;
  }

  /** Restores the back-off of an earlier agent from the runtime's records. Does nothing for a known pod. */
  adopt(pod: Pod, status: PodRuntimeStatus): void {
    if (this.#pods.has(pod.metadata.uid)) return;
    const { entries } = this.#pod(pod.metadata.uid);
    for (const { container } of allContainers(pod)) {
      const runs = status.containers.filter((run) => run.name === container.name);
      const newest = runs[0];
      if (newest === undefined || isDefinitionChanged(container, newest)) continue;
      const delayMs = deriveCrashDelayMs(runs, this.#config);
      if (delayMs === undefined) continue;
      const startedWallMs = newest.startedAtMs === 0 ? newest.createdAtMs : newest.startedAtMs;
      entries.set(crashKey(pod, container), { delayMs, startedAtMs: this.#toMonotonic(startedWallMs) });
    }
  }

  /** Ends the back-off of a container, for "retry now". */
  reset(pod: Pod, container: AnyContainer): void {
    this.#pods.get(pod.metadata.uid)?.entries.delete(crashKey(pod, container));
  }

  forgetPod(uid: string): void {
    this.#pods.delete(uid);
  }

  #pod(uid: string): PodEntries {
    let known = this.#pods.get(uid);
    if (known === undefined) {
      known = { entries: new Map(), finishedAt: new Map() };
      this.#pods.set(uid, known);
    }
    return known;
  }

  #finishedAt(pod: Pod, exited: ContainerRuntimeStatus): number {
    const { finishedAt } = this.#pod(pod.metadata.uid);
    const known = finishedAt.get(exited.id);
    if (known !== undefined) return known;
    const monotonic = this.#toMonotonic(exited.finishedAtMs);
    // Only the newest runs are ever queried, so few are kept.
    if (finishedAt.size >= 32) finishedAt.delete(finishedAt.keys().next().value as ContainerId);
    finishedAt.set(exited.id, monotonic);
    return monotonic;
  }

  #toMonotonic(wallMs: number): number {
    return this.#clock.monotonicMs() - Math.max(0, this.#clock.nowMs() - wallMs);
  }
}
