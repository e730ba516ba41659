import type { Pod } from '../../api/core/pod.ts';
import type { PodStatus } from '../../api/core/pod-status.ts';
import { isStaticPod, isTerminalPhase, isTerminalPod, podFullName } from '../../api/pod.ts';
import { reportsRejection } from '../features/admission/admission-state.ts';
import { reportsShutdown } from '../features/node-shutdown/shutdown-state.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import type { WorkerStates } from '../features/pod-workers/worker-states.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import type { SyncQueue } from './sync-queue.ts';

export interface PodDirectoryParts {
  readonly store: Pick<PodStore, 'pods' | 'byUid'>;
  readonly states: Pick<WorkerStates, 'get' | 'known'>;
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly cache: { get(uid: PodUid): PodRuntimeStatus | undefined };
  readonly queue: Pick<SyncQueue, 'waitingPods'>;
}

/**
 * Which pods exist, and which of them are alive, over or visible. The answers are computed from the sources, the pod
 * workers and the published statuses; nothing is changed here.
 */
export class PodDirectory {
  readonly #parts: PodDirectoryParts;

  constructor(parts: PodDirectoryParts) {
    this.#parts = parts;
  }

  /** Returns the pod as its source wants it, or else the pod of a worker. */
  byUid(uid: PodUid): Pod | undefined {
    const { store, states } = this.#parts;
    return store.byUid(uid) ?? podOf(states.get(uid));
  }

  /** Returns all wanted pods, including those that wait for the runtime, and the pods that are being stopped. */
  visible(): Pod[] {
    const { store, states, queue } = this.#parts;
    const pods = new Map([...queue.waitingPods(), ...store.pods()].map((pod) => [podUid(pod.metadata.uid), pod]));
    for (const [uid, state] of states.known()) {
      const pod = pods.has(uid) ? undefined : podOf(state);
      if (pod !== undefined) pods.set(uid, pod);
    }
    return [...pods.values()];
  }

  /**
   * Returns the wanted pods that have not ended (upstream: filterOutInactivePods). A finished pod keeps its place as
   * long as one of its containers runs. Upstream keeps the place until the whole pod is stopped, and rejects pods that
   * are created right after the end of another pod was reported.
   */
  live(): Pod[] {
    return this.#parts.store.pods().filter((pod) => this.#isLive(pod));
  }

  /**
   * Whether the pod has finished or is being stopped. Its resources are then free for other pods, and its spec no
   * longer changes.
   */
  isOver(uid: PodUid): boolean {
    const phase = this.#parts.states.get(uid)?.phase;
    return phase === 'terminating' || hasStopped(phase) || isTerminalPhase(this.#parts.statuses.get(uid)?.phase);
  }

  /**
   * Whether the published status, or the status in the source, is terminal. A rejected static pod may be admitted
   * again, so it is not terminal.
   */
  isTerminal(uid: PodUid): boolean {
    const { statuses, store } = this.#parts;
    const pod = store.byUid(uid);
    if (pod !== undefined && this.wasTurnedAway(pod)) return false;
    return isTerminalPhase(statuses.get(uid)?.phase ?? pod?.status?.phase);
  }

  /** Whether the pod has a worker and something of it may run. */
  isPresent(uid: PodUid): boolean {
    return !this.hasStopped(uid);
  }

  /** Returns those of the given pods of which something may run. */
  presentOf(pods: Iterable<PodRuntimeStatus>): PodRuntimeStatus[] {
    return [...pods].filter(({ uid }) => this.isPresent(uid));
  }

  /** Whether nothing of the pod runs, or it never had a worker. */
  hasStopped(uid: PodUid): boolean {
    const phase = this.#parts.states.get(uid)?.phase;
    return phase === undefined || hasStopped(phase);
  }

  /** Whether an earlier run of the agent, or the API server, reported that the pod has ended. */
  hasEnded(pod: Pod): boolean {
    return isTerminalPod(pod) || isTerminalPhase(this.#parts.statuses.get(podUid(pod.metadata.uid))?.phase);
  }

  /**
   * Whether the published status says that a static pod was rejected or ended by a node shutdown. The next run of the
   * agent admits such a pod again, as upstream does, because a restart of the agent or machine may have removed the
   * cause.
   */
  wasTurnedAway(pod: Pod): boolean {
    const status = this.#parts.statuses.get(podUid(pod.metadata.uid));
    return isStaticPod(pod) && (reportsRejection(status) || reportsShutdown(status));
  }

  /** Whether a static pod with this full name is being stopped. */
  isStaticEnding(fullName: string): boolean {
    return [...this.#parts.states.known().values()].some((state) => {
      const pod = state.phase === 'terminating' ? podOf(state) : undefined;
      return pod !== undefined && isStaticPod(pod) && podFullName(pod) === fullName;
    });
  }

  #isLive(pod: Pod): boolean {
    const { states, statuses, cache } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const phase = states.get(uid)?.phase;
    if (hasStopped(phase)) return false;
    if (!isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase)) return true;
    return phase === 'terminating' && cache.get(uid)?.containers.some(({ state }) => state === 'running') === true;
  }
}

/** Returns the pod of a worker, or undefined if only the runtime knows the pod. */
function podOf(state: WorkerState | undefined): Pod | undefined {
  if (state?.phase !== 'terminating') return state?.pod;
  return state.subject.kind === 'pod' ? state.subject.pod : undefined;
}
const hasStopped = (phase: WorkerState['phase'] | undefined): boolean => phase === 'terminated' || phase === 'finished';
