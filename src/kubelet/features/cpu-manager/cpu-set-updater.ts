import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet } from '../../model/cpu-set.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';

export interface CpuSetUpdaterParts {
  readonly runtime: Pick<ContainerRuntime, 'updateContainerResources'>;
  /** Returns the running containers of pods that have not ended. */
  readonly running: () => readonly PodRuntimeStatus[];
  readonly affinity: (uid: string, container: string) => CpuSet | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /**
   * The field `cpuManagerReconcilePeriod` in milliseconds. It is a fallback, because changes of the state are applied
   * immediately.
   */
  readonly periodMs: number;
}

export interface CpuSetUpdate {
  readonly id: ContainerId;
  readonly uid: string;
  readonly container: string;
  /** A CPU list such as `0-3,8`. */
  readonly cpus: string;
}

/** Returns the running containers whose CPUs are not known to be the assigned ones. */
function computeCpuSetUpdates(
  running: readonly PodRuntimeStatus[],
  affinity: CpuSetUpdaterParts['affinity'],
  applied: ReadonlyMap<ContainerId, string>,
): CpuSetUpdate[] {
  return running.flatMap(({ uid, containers }) =>
    containers.flatMap(({ id, name, state }) => {
      const wanted = state === 'running' ? affinity(uid, name) : undefined;
      // An empty CPU set is not applied, because nothing could run with it. The container keeps its CPUs.
      if (wanted === undefined || wanted.size === 0) return [];
      const cpus = formatCpuSet(wanted);
      return applied.get(id) === cpus ? [] : [{ id, uid, container: name, cpus }];
    }),
  );
}

/** The maximum number of concurrent calls. More calls would delay the start of pods. */
const MOST_CALLS = 16;

/**
 * Applies the CPU manager's assignments to running containers (upstream: cpu_manager.go reconcileState). Invariants:
 * 1. Every pass reads the running containers. A replaced container counts as a new one.
 * 2. A call that hangs or fails does not delay other containers. A failed call is repeated at the next pass.
 */
export class CpuSetUpdater {
  readonly #parts: CpuSetUpdaterParts;
  readonly #applied = new Map<ContainerId, string>();
  /** The CPUs with which containers were created that are not yet known to run, by pod and name. */
  readonly #created = new Map<string, Map<string, string>>();
  readonly #underWay = new Set<ContainerId>();
  /** The monotonic time of the next try. */
  readonly #failing = new Map<ContainerId, number>();
  readonly #loop: Loop;

  constructor(parts: CpuSetUpdaterParts) {
    this.#parts = parts;
    const { clock, random, log, periodMs } = parts;
    this.#loop = createLoop({
      name: 'CPU sets',
      clock,
      random,
      log,
      periodMs: () => periodMs,
      pass: async () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Starts a pass, because the state of the manager changed or a container started. */
  wake(): void {
    this.#loop.wake();
  }

  /** Records the CPUs with which a container is created. */
  noteCreated(uid: string, container: string, cpus: CpuSet): void {
    const own = this.#created.get(uid) ?? new Map<string, string>();
    this.#created.set(uid, own.set(container, formatCpuSet(cpus)));
  }

  /** Forgets all other pods. */
  retain(isLive: (uid: string) => boolean): void {
    for (const uid of this.#created.keys()) if (!isLive(uid)) this.#created.delete(uid);
  }

  #pass(): void {
    const { running, affinity, clock } = this.#parts;
    const pods = running();
    this.#adopt(pods);
    for (const update of computeCpuSetUpdates(pods, affinity, this.#applied)) {
      if (this.#underWay.size >= MOST_CALLS) return;
      const isDue = (this.#failing.get(update.id) ?? -Infinity) <= clock.monotonicMs();
      if (isDue && !this.#underWay.has(update.id)) void this.#apply(update);
    }
  }

  /** Forgets ended containers, and records with which CPUs the new ones were created. */
  #adopt(pods: readonly PodRuntimeStatus[]): void {
    const alive = new Set<ContainerId>();
    for (const { uid, containers } of pods) {
      const created = this.#created.get(uid);
      for (const { id, name, state } of containers) {
        if (state !== 'running') continue;
        alive.add(id);
        const cpus = created?.get(name);
        if (cpus === undefined) continue;
        if (!this.#applied.has(id)) this.#applied.set(id, cpus);
        created?.delete(name);
      }
    }
    for (const known of [this.#applied, this.#failing])
      for (const id of known.keys()) if (!alive.has(id)) known.delete(id);
  }

  async #apply({ id, container, uid, cpus }: CpuSetUpdate): Promise<void> {
    const { runtime, clock, log, periodMs } = this.#parts;
    this.#underWay.add(id);
    try {
      await runtime.updateContainerResources(id, { cpusetCpus: cpus });
      this.#applied.set(id, cpus);
      this.#failing.delete(id);
      log.debug(2, 'updated the CPU set of a container', { podUid: uid, container, containerId: id, cpuSet: cpus });
    } catch (error) {
      if (!isKind(error, 'NotFound') && !this.#failing.has(id))
        log.error('failed to update container', {
          podUid: uid,
          container,
          containerId: id,
          cpuSet: cpus,
          error: errorMessage(error),
        });
      this.#failing.set(id, clock.monotonicMs() + periodMs);
    } finally {
      this.#underWay.delete(id);
    }
    // The state may have changed during this pass, and calls may have waited for a free slot.
    this.#loop.wake();
  }
}
