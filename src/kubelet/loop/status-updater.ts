import type { Clock } from '../../base/clock.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../api/core/pod-status.ts';
import { annotations } from '../../api/annotations.ts';
import { isStaticPod } from '../../api/pod.ts';
import { podReasons } from '../../api/reasons.ts';
import { rejectedStatus, withVerdict } from '../features/admission/verdict-status.ts';
import type { PodVerdict } from '../features/admission/standing.ts';
import { generatePodStatus, type PodStatusFacts } from '../features/status/pod-status.ts';
import type { ProbeVerdicts, RestartRules, StartFailures } from '../features/status/interfaces.ts';
import type { StatusManager } from '../features/status/status-manager.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { podUid, type PodUid } from '../model/ids.ts';
import { isAnythingRunning, type PodRuntimeStatus } from '../model/runtime-status.ts';

export interface StatusUpdaterParts {
  statuses: StatusManager;
  clock: Clock;
  worker: (uid: PodUid) => WorkerState | undefined;
  runtimeStatus: (pod: { uid: PodUid; name: string; namespace: string }) => PodRuntimeStatus;
  /** false while the runtime has not told what runs of the pod: nothing new can be said of it then. */
  isRead: (uid: PodUid) => boolean;
  /** Pods that still have a worker or a source; undefined for others. */
  pod: (uid: PodUid) => Pod | undefined;
  /** What admission says of the pod: turned away, held, stopped to make room. */
  verdict: (uid: PodUid) => PodVerdict | undefined;
  /** What is told of a change of the pod's resources, and what is on record of it. */
  resize?: (uid: PodUid) => NonNullable<PodStatusFacts['resize']>;
  rules: RestartRules;
  probes: ProbeVerdicts;
  failures: StartFailures;
  runtimeName: () => string;
  /** Whether stop signals are shown (feature gate ContainerStopSignals). */
  stopSignals?: boolean;
  hostIps: readonly string[];
}

/** Brings what is known of a pod together and publishes its status, at once, whenever any part of it changed. */
export class StatusUpdater {
  readonly #parts: StatusUpdaterParts;
  readonly #acting = new Set<PodUid>();

  constructor(parts: StatusUpdaterParts) {
    this.#parts = parts;
  }

  /**
   * Computes the pod's status, stores what is told of it, and returns what it is: it is told as over only when nothing of it runs any more;
   * undefined for a pod that nobody knows. Until the runtime has told what runs of the pod, the status
   * of the agent's earlier run stands: an empty picture would show healthy containers as lost.
   */
  refresh(uid: PodUid): PodStatus | undefined {
    const pod = this.#parts.pod(uid);
    if (pod === undefined) return undefined;
    if (!this.#parts.isRead(uid)) return this.#parts.statuses.get(uid);
    const status = this.compute(pod);
    const runtime = this.#runtimeStatus(pod);
    const { statuses } = this.#parts;
    // What admission says of a pod must be on record before it is withdrawn, which is when the pod begins to be stopped.
    const shown = this.#parts.verdict(uid) === undefined ? untilStopped(status, statuses.get(uid), runtime) : status;
    statuses.set(pod, shown, takenInAtMs(pod, runtime));
    return shown === status ? statuses.get(uid) : { ...statuses.get(uid), ...status };
  }

  /** While somebody starts and stops what the pod consists of, its end is not told: what has been stopped may be about to start again. */
  async whileActing<T>(uid: PodUid, act: () => Promise<T>): Promise<T> {
    this.#acting.add(uid);
    try {
      return await act();
    } finally {
      this.#acting.delete(uid);
    }
  }

  compute(pod: Pod): PodStatus {
    const { worker, rules, probes, failures, runtimeName, hostIps } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const verdict = this.#parts.verdict(uid);
    if (verdict?.kind === 'rejected') return rejectedStatus(pod, verdict);
    const phase = worker(uid)?.phase;
    const runtime = this.#runtimeStatus(pod);
    const isTerminal =
      phase === 'terminated' || phase === 'finished' || (phase === 'terminating' && !isAnythingRunning(runtime));
    const previous = this.#previous(pod);
    const status = generatePodStatus({
      pod,
      runtime,
      previous,
      isTerminal,
      isOver: phase === 'terminated' || phase === 'finished',
      isUndecided: this.#acting.has(uid),
      override:
        verdict?.kind === 'preempted' ? preempted(verdict, { previous, isTerminal }) : this.#deadline(pod, previous),
      rules,
      probes,
      failures,
      runtimeName: runtimeName(),
      stopSignals: this.#parts.stopSignals,
      hostIps,
      ...(this.#parts.resize === undefined ? {} : { resize: this.#parts.resize(uid) }),
    });
    return withVerdict(this.#acting.has(uid) ? untilDone(pod, status, previous) : status, verdict);
  }

  /**
   * What was last told of the pod. What the API server was told by an earlier run is as good as the record of it (upstream: generateAPIPodStatus),
   * and better when it is ahead of the record, which was written late then.
   */
  #previous(pod: Pod): PodStatus | undefined {
    const { statuses } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const recorded = statuses.get(uid);
    if (isStaticPod(pod)) return recorded;
    return recorded === undefined || (statuses.version(uid) === 0 && isAhead(pod.status, recorded))
      ? pod.status
      : recorded;
  }

  /** Milliseconds until the pod's active deadline; undefined without one. */
  deadlineInMs(pod: Pod): number | undefined {
    const seconds = pod.spec.activeDeadlineSeconds;
    const startTime = this.#parts.statuses.get(podUid(pod.metadata.uid))?.startTime;
    if (seconds === undefined || startTime === undefined) return undefined;
    return Date.parse(startTime) + seconds * 1000 - this.#parts.clock.nowMs();
  }

  /** Upstream: active_deadline.go. */
  #deadline(
    pod: Pod,
    previous: PodStatus | undefined,
  ): { phase: 'Failed'; reason: string; message: string } | undefined {
    if (previous?.phase === 'Succeeded' || (this.deadlineInMs(pod) ?? 1) > 0) return undefined;
    return {
      phase: 'Failed',
      reason: podReasons.deadlineExceeded,
      message: 'Pod was active on the node longer than the specified deadline',
    };
  }

  #runtimeStatus(pod: Pod): PodRuntimeStatus {
    return this.#parts.runtimeStatus({
      uid: podUid(pod.metadata.uid),
      name: pod.metadata.name,
      namespace: pod.metadata.namespace,
    });
  }
}

function isOver(status: PodStatus | undefined): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** What only ever grows tells which of two statuses is the later one: that the pod is over, and how often its containers were started. */
function isAhead(status: PodStatus | undefined, of: PodStatus): status is PodStatus {
  if (status?.containerStatuses === undefined) return false;
  if (isOver(status) !== isOver(of)) return isOver(status);
  const counts = new Map(all(of).map(({ name, restartCount }) => [name, restartCount]));
  return all(status).some(({ name, restartCount }) => restartCount > (counts.get(name) ?? 0));
}

function all({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): readonly ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/**
 * A container that is made anew, its image having changed, ends in between. Of a pod that does not always restart the API server takes no end back,
 * so it is not told before the pass is over (upstream: statuses are generated between passes).
 */
function untilDone(pod: Pod, status: PodStatus, told: PodStatus | undefined): PodStatus {
  if (told === undefined || (pod.spec.restartPolicy ?? 'Always') === 'Always') return status;
  const held = (
    now: readonly ContainerStatus[] | undefined,
    before: readonly ContainerStatus[] | undefined,
  ): ContainerStatus[] | undefined =>
    now?.map((container) => {
      const earlier = before?.find(({ name }) => name === container.name);
      return earlier?.state?.running !== undefined && container.state?.terminated !== undefined
        ? { ...earlier, ready: false }
        : container;
    });
  const [initContainerStatuses, containerStatuses] = [
    held(status.initContainerStatuses, told.initContainerStatuses),
    held(status.containerStatuses, told.containerStatuses),
  ];
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses }),
    ...(containerStatuses && { containerStatuses }),
  };
}

/**
 * Whoever waits for the end of a pod takes what it held for free, and so must not hear of it while a container runs (upstream:
 * status_manager.go mergePodStatus).
 */
function untilStopped(status: PodStatus, told: PodStatus | undefined, { containers }: PodRuntimeStatus): PodStatus {
  if (!isOver(status) || isOver(told) || !containers.some(({ state }) => state === 'running')) return status;
  const { reason: _reason, message: _message, ...rest } = status;
  const { phase = 'Pending', reason, message } = told ?? {};
  return { ...rest, phase, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/**
 * A pod that is stopped to make room has failed until nothing of it runs; then its containers have the last word, as they have of any pod
 * that ends (upstream: SyncTerminatingPod applies the verdict, and judges the pod anew once it has stopped).
 */
function preempted(
  { reason, message }: PodVerdict,
  facts: { previous: PodStatus | undefined; isTerminal: boolean },
): { phase: 'Failed'; reason: string; message: string } | undefined {
  return facts.isTerminal || facts.previous?.phase === 'Succeeded' ? undefined : { phase: 'Failed', reason, message };
}

/**
 * When the node took the pod in: as its oldest sandbox carries it, so that an agent that lost its records says the same as the one before;
 * for a pod without one, as this agent saw it first.
 */
function takenInAtMs(pod: Pod, { containers, sandboxes }: PodRuntimeStatus): number | undefined {
  const oldest = sandboxes.at(-1);
  const seenMs = Date.parse(
    (oldest === undefined ? pod.metadata.annotations : oldest.annotations)?.[annotations.configSeen] ?? '',
  );
  if (Number.isFinite(seenMs)) return seenMs;
  return oldest?.createdAtMs ?? containers.at(-1)?.createdAtMs;
}
