import type { ListedSandbox } from '../../model/runtime-status.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, ignoreNotFound, KubeletError } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { inSpan } from '../../../base/tracer.ts';
import type { Tracer } from '../../../base/tracer.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import type { ContainerRuntime, Listed } from '../../ports/runtime.ts';
import type { GcPolicy, GcState, CleanupDecision } from './gc-select.ts';
import { selectContainers, selectSandboxes } from './gc-select.ts';

/** The interval of passes (upstream: ContainerGCPeriod). */
const CONTAINER_GC_PERIOD_MS = 60_000;
/**
 * The number of concurrent removals: enough to clear a node full of jobs soon, but not so many that they slow down the
 * start of pods.
 */
const PARALLEL_REMOVALS = 4;
/**
 * The grace period of a container in unknown state, which is stopped before it is removed. It is upstream's minimum.
 */
const UNKNOWN_GRACE_MS = 2000;
/**
 * Each tenth pass checks for leftover logs of earlier attempts. They are rare, and a check lists one folder per
 * container.
 */
const LOG_SWEEP_EVERY = 10;

export interface PodNames {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** Removes the logs of removed containers (features/container-logs). Its functions never reject. */
export interface PodLogs {
  removeContainer(pod: PodNames, container: { id: string; name: string; attempt: number }): Promise<void>;
  removePod(
    uid: string,
    names: PodNames | undefined,
    containers: readonly { id: string; name: string; attempt: number }[],
  ): Promise<void>;
  sweep(isGone: (uid: string) => boolean, isRunning: (containerId: string) => boolean): Promise<void>;
  sweepAttempts(
    pod: PodNames,
    containerNames: readonly string[],
    attemptsOf: (container: string) => ReadonlySet<number>,
  ): Promise<void>;
}

/** Notified immediately of removed containers and sandboxes, so that the cleanup does not wait for a relist. */
export interface RemovalListener {
  noteContainerRemoved(uid: PodUid, id: ContainerId): void;
  noteSandboxRemoved(uid: PodUid, id: SandboxId): void;
}

export interface ContainerGcParts {
  readonly runtime: Pick<
    ContainerRuntime,
    'listContainers' | 'listSandboxes' | 'removeContainer' | 'stopContainer' | 'stopSandbox' | 'removeSandbox'
  >;
  readonly policy: GcPolicy;
  readonly decideCleanup: (podUid: string) => CleanupDecision;
  /** Whether the pod has ended and its worker has nothing to do. */
  readonly isOver: (podUid: string) => boolean;
  /** Whether all sources have reported. No pod counts as removed before. */
  readonly sourcesReady: () => boolean;
  readonly logs: PodLogs;
  readonly cache: RemovalListener;
  readonly events: { nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void };
  readonly platform: { clock: Clock; random: Random; log: Logger };
  readonly tracer?: Tracer | undefined;
}

/** The trace span of a pass (upstream: kuberuntime_gc.go GarbageCollect). */
const gcSpan = { name: 'Containers/GarbageCollect', scope: 'k8s.io/kubernetes/pkg/kubelet/kuberuntime' };

/**
 * Removes dead containers and sandboxes, and their logs. Invariants:
 * 1. Running containers, and everything of a pod whose sync is in progress, are left alone.
 * 2. What no longer exists counts as removed.
 * 3. A pass continues after a failure. The failures are returned as one error.
 * 4. Passes do not overlap. `collectPod` may run beside a pass, because a second removal does nothing.
 */
export class ContainerGc {
  readonly #parts: ContainerGcParts;
  readonly #loop: Loop;
  #passes = 0;
  #complaint = '';

  constructor(parts: ContainerGcParts) {
    this.#parts = parts;
    this.#loop = createLoop({
      name: 'container-gc',
      ...parts.platform,
      periodMs: CONTAINER_GC_PERIOD_MS,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Runs one pass over the node. Rejects with an error that lists what could not be removed. */
  async collect(): Promise<void> {
    await this.#collect(() => false);
  }

  /**
   * Runs a pass that also removes the ended containers of pods that have ended, whose statuses already contain the
   * results (upstream: DeleteAllUnusedContainers). Resolves with the number of removed containers. Eviction uses it.
   */
  deleteUnused(): Promise<number> {
    return this.#collect(this.#parts.isOver);
  }

  /** Returns how many containers `deleteUnused` would remove now. */
  async countUnused(): Promise<number> {
    return (await this.#select(this.#parts.isOver)).victims.size;
  }

  #cleanupDecisionOf(uid: string): CleanupDecision {
    // No kubelet created it, so it is not removed.
    if (uid === '') return 'busy';
    const decision = this.#parts.decideCleanup(uid);
    return decision === 'removed' && !this.#parts.sourcesReady() ? 'kept' : decision;
  }

  async #select(isOver: (podUid: string) => boolean): Promise<{
    containers: Listed[];
    sandboxes: ListedSandbox[];
    state: GcState;
    victims: ReadonlySet<string>;
  }> {
    const { runtime, policy, platform } = this.#parts;
    const [containers, sandboxes] = await Promise.all([runtime.listContainers(), runtime.listSandboxes()]);
    const state: GcState = {
      containers: containers.map(asGcContainer),
      sandboxes,
      decideCleanup: (uid) => (isOver(uid) ? 'removed' : this.#cleanupDecisionOf(uid)),
    };
    const victims = new Set(selectContainers(state, policy, platform.clock.nowMs()).map(({ id }) => id));
    return { containers, sandboxes, state, victims };
  }

  #collect(isOver: (podUid: string) => boolean): Promise<number> {
    return inSpan(this.#parts.tracer, gcSpan, () => this.#collectTraced(isOver));
  }

  async #collectTraced(isOver: (podUid: string) => boolean): Promise<number> {
    const { logs } = this.#parts;
    const ready = this.#parts.sourcesReady();
    const { containers, sandboxes, state, victims } = await this.#select(isOver);
    const errors: string[] = [];
    const removed = await this.#removeContainers(
      containers.filter(({ id }) => victims.has(id)),
      errors,
    );
    const dead = new Set(selectSandboxes(state, removed).map(({ id }) => id));
    await this.#removeSandboxes(
      sandboxes.filter(({ id }) => dead.has(id)),
      errors,
    );
    if (ready)
      await logs.sweep(
        (uid) => this.#cleanupDecisionOf(uid) === 'removed',
        (id) => containers.some((container) => container.id === id && container.state !== 'exited'),
      );
    if (ready && this.#passes++ % LOG_SWEEP_EVERY === 0) await this.#sweepAttempts(containers);
    if (errors.length > 0) throw new KubeletError('Unavailable', errors.join('; '), { op: 'container gc' });
    return removed.size;
  }

  /**
   * Removes everything that is left of a finished pod that no source wants any more: containers in parallel, then
   * sandboxes, then logs. What still runs is left alone. Rejects if something is left; the next pass retries.
   */
  async collectPod(uid: PodUid, pod?: PodNames): Promise<void> {
    const { runtime, logs } = this.#parts;
    const [containers, sandboxes] = await Promise.all([
      runtime.listContainers({ podUid: uid }),
      runtime.listSandboxes({ podUid: uid }),
    ]);
    const errors: string[] = [];
    const removed = await this.#removeContainers(
      containers.filter(({ state }) => state !== 'running'),
      errors,
      { keepLogs: true },
    );
    const inUse = new Set(containers.filter(({ id }) => !removed.has(id)).map(({ sandboxId }) => sandboxId));
    await this.#removeSandboxes(
      sandboxes.filter(({ id, ready }) => !ready && !inUse.has(id)),
      errors,
    );
    if (inUse.size === 0) await logs.removePod(uid, pod ?? namesOf(uid, containers, sandboxes), containers);
    if (errors.length > 0) throw new KubeletError('Unavailable', errors.join('; '), { op: 'container gc' });
  }

  async #pass(): Promise<void> {
    const { platform, events } = this.#parts;
    try {
      await this.collect();
      if (this.#complaint !== '') platform.log.info('Container garbage collection succeeded');
      this.#complaint = '';
    } catch (error) {
      const message = errorMessage(error);
      if (message === this.#complaint) return;
      this.#complaint = message;
      platform.log.error('Container garbage collection failed', { error: message });
      events.nodeEvent('Warning', nodeEvents.containerGCFailed, message);
    }
  }

  /** Removes the containers, and returns the ids of those that no longer exist. */
  async #removeContainers(
    victims: readonly Listed[],
    errors: string[],
    options: { keepLogs?: boolean } = {},
  ): Promise<Set<string>> {
    const { runtime, cache, logs } = this.#parts;
    const removed = new Set<string>();
    await inParallel(victims, async (container) => {
      const { id, podUid, name, attempt, state } = container;
      try {
        if (state === 'unknown') await ignoreNotFound(runtime.stopContainer(id, UNKNOWN_GRACE_MS));
        await ignoreNotFound(runtime.removeContainer(id));
        removed.add(id);
        cache.noteContainerRemoved(podUid, id);
        if (options.keepLogs !== true)
          await logs.removeContainer(
            { uid: podUid, name: container.podName, namespace: container.podNamespace },
            { id, name, attempt },
          );
      } catch (error) {
        errors.push(
          `failed to remove container ${name} of pod ${container.podNamespace}/${container.podName}: ${errorMessage(error)}`,
        );
      }
    });
    return removed;
  }

  /**
   * Removes the sandboxes. Each is stopped first, because an ended sandbox keeps its network until then (upstream:
   * removeSandbox).
   */
  async #removeSandboxes(victims: readonly ListedSandbox[], errors: string[]): Promise<void> {
    const { runtime, cache } = this.#parts;
    await inParallel(victims, async ({ id, podUid, podName, podNamespace }) => {
      try {
        await ignoreNotFound(runtime.stopSandbox(id));
        await ignoreNotFound(runtime.removeSandbox(id));
        cache.noteSandboxRemoved(podUid, id);
      } catch (error) {
        errors.push(`failed to remove sandbox of pod ${podNamespace}/${podName}: ${errorMessage(error)}`);
      }
    });
  }

  async #sweepAttempts(containers: readonly Listed[]): Promise<void> {
    const pods = new Map<string, { names: PodNames; attempts: Map<string, Set<number>> }>();
    for (const { podUid, podName, podNamespace, name, attempt } of containers) {
      const pod = pods.get(podUid) ?? {
        names: { uid: podUid, name: podName, namespace: podNamespace },
        attempts: new Map<string, Set<number>>(),
      };
      pods.set(podUid, pod);
      pod.attempts.set(name, (pod.attempts.get(name) ?? new Set()).add(attempt));
    }
    for (const { names, attempts } of pods.values()) {
      if (this.#cleanupDecisionOf(names.uid) !== 'kept') continue;
      await this.#parts.logs.sweepAttempts(
        names,
        [...attempts.keys()],
        (container) => attempts.get(container) ?? new Set(),
      );
    }
  }
}

function asGcContainer({
  id,
  podUid,
  name,
  attempt,
  sandboxId,
  state,
  createdAtMs,
}: Listed): GcState['containers'][number] {
  return { id, podUid, name, attempt, sandboxId, state, createdAtMs };
}

function namesOf(
  uid: PodUid,
  containers: readonly Listed[],
  sandboxes: readonly ListedSandbox[],
): PodNames | undefined {
  const some = sandboxes[0] ?? containers[0];
  return some === undefined || some.podName === ''
    ? undefined
    : { uid, name: some.podName, namespace: some.podNamespace };
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_REMOVALS, items.length) }, worker));
}
