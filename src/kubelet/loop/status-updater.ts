import type { Clock } from '../../base/clock.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../api/core/pod-status.ts';
import { annotations } from '../../api/annotations.ts';
import { isStaticPod, isTerminalPhase } from '../../api/pod.ts';
import { podReasons } from '../../api/reasons.ts';
import { rejectedStatus, withVerdict } from '../features/admission/verdict-status.ts';
import type { AdmissionManager } from '../features/admission/admission-manager.ts';
import type { PodVerdict } from '../features/admission/admission-state.ts';
import { reportsRejection } from '../features/admission/admission-state.ts';
import type { AllocationManager } from '../features/allocation/allocation-manager.ts';
import type { ResourceCheckpoint } from '../features/allocation/resource-checkpoint.ts';
import type { EvictedRecord, EvictionVerdict } from '../features/eviction/evicted-record.ts';
import type { OomRecords } from '../features/oom-watcher/oom-records.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodStatusFacts, StatusOverride } from '../features/status/pod-status.ts';
import { generatePodStatus } from '../features/status/pod-status.ts';
import type { ProbeVerdicts, RestartRules, StartFailures } from '../features/status/interfaces.ts';
import type { StatusManager } from '../features/status/status-manager.ts';
import type { WorkerStates } from '../features/pod-workers/worker-states.ts';
import type { VolumeManager } from '../features/volumes/volume-manager.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { isAnythingRunning } from '../model/runtime-status.ts';
import type { DeviceHealth } from './device-health.ts';
import type { PodDirectory } from './pod-directory.ts';

export interface StatusUpdaterParts {
  readonly statuses: StatusManager;
  readonly clock: Clock;
  readonly states: Pick<WorkerStates, 'get'>;
  /**
   * The runtime cache. Until the runtime has reported what runs of the pod (`isRead` is false), the pod's status does
   * not change.
   */
  readonly cache: Pick<RuntimeCache, 'getOrEmpty' | 'isRead'>;
  /** Returns the pods that still have a worker or a source. */
  readonly directory: Pick<PodDirectory, 'byUid'>;
  readonly admission: Pick<AdmissionManager, 'verdictOn'>;
  /** The pods that the node evicted. */
  readonly evicted: Pick<EvictedRecord, 'get'>;
  readonly allocation: Pick<AllocationManager, 'apply' | 'conditions'>;
  /** The resources that were last sent to the runtime. */
  readonly actuated: Pick<ResourceCheckpoint, 'container' | 'podLevel'>;
  /** The processes that the kernel killed. */
  readonly oomKills: Pick<OomRecords, 'of'>;
  readonly volumes: Pick<VolumeManager, 'blockers'>;
  readonly deviceHealth?: DeviceHealth;
  readonly rules: RestartRules;
  readonly probes: ProbeVerdicts;
  readonly failures: StartFailures;
  readonly runtimeName: string;
  /** Whether stop signals are shown (feature gate ContainerStopSignals). */
  readonly stopSignals?: boolean;
  readonly hidesReadyToStart?: boolean;
  readonly hostIps: readonly string[];
}

/** Combines everything known of a pod and publishes its status as soon as any part changes. */
export class StatusUpdater {
  readonly #parts: StatusUpdaterParts;
  readonly #acting = new Set<PodUid>();

  constructor(parts: StatusUpdaterParts) {
    this.#parts = parts;
  }

  /**
   * Computes the pod's status, publishes it and returns the computed one; undefined for an unknown pod. A terminal
   * phase is published only when nothing of the pod runs any more. Until the runtime state is known, the status of the
   * agent's earlier run is kept: an empty state would show healthy containers as lost.
   */
  refresh(uid: PodUid): PodStatus | undefined {
    const wanted = this.#parts.directory.byUid(uid);
    if (wanted === undefined) return undefined;
    const pod = this.#parts.allocation.apply(wanted);
    if (!this.#parts.cache.isRead(uid)) return this.#parts.statuses.get(uid);
    const status = this.compute(pod);
    const runtime = this.#runtimeStatus(pod);
    const { statuses } = this.#parts;
    const verdict = this.#parts.admission.verdictOn(uid);
    // The reason for a rejection must be recorded before the pod begins to be stopped, because admission drops it then.
    const isRefused = verdict !== undefined && verdict.kind !== 'preempted';
    const shown = isRefused ? status : untilStopped(status, statuses.get(uid), this.#mayRun(uid, runtime));
    statuses.set(pod, shown, takenInAtMs(pod, runtime));
    return shown === status ? statuses.get(uid) : { ...statuses.get(uid), ...status };
  }

  /**
   * Whether a container runs. If the node ends the pod, its containers decide the phase only when its sandbox has
   * stopped too. Until then the phase comes from the node's decision, which may differ.
   */
  #mayRun(uid: PodUid, runtime: PodRuntimeStatus): boolean {
    const { states, evicted, admission } = this.#parts;
    if (runtime.containers.some(({ state }) => state === 'running')) return true;
    const phase = states.get(uid)?.phase;
    const isInterrupted = evicted.get(uid) !== undefined || admission.verdictOn(uid)?.kind === 'preempted';
    return isInterrupted && (phase === 'syncing' || (phase === 'terminating' && isAnythingRunning(runtime)));
  }

  /**
   * Runs `act` without publishing an end of the pod. While a worker starts and stops containers, a stopped container
   * may be about to start again.
   */
  async whileActing<T>(uid: PodUid, act: () => Promise<T>): Promise<T> {
    this.#acting.add(uid);
    try {
      return await act();
    } finally {
      this.#acting.delete(uid);
    }
  }

  compute(pod: Pod): PodStatus {
    const { states, rules, probes, failures, runtimeName, hostIps } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const verdict = this.#parts.admission.verdictOn(uid);
    if (verdict?.kind === 'rejected') return rejectedStatus(pod, verdict);
    const evicted = this.#parts.evicted.get(uid);
    const phase = states.get(uid)?.phase;
    const runtime = this.#runtimeStatus(pod);
    const isOver = phase === 'terminated' || phase === 'finished';
    const isTerminal = isOver || (phase === 'terminating' && !isAnythingRunning(runtime));
    const previous = this.#previous(pod);
    // An earlier run rejected the pod, so nothing of it ever ran.
    if (runtime.containers.length === 0 && reportsRejection(previous)) return previous ?? {};
    // Admission decides again about such a pod. Its verdict takes precedence over an end that was not observed
    // (upstream: a pod is admitted before its first status).
    const isLost = verdict?.kind === 'held' && !isTerminal && runtime.containers.length === 0;
    const isUndecided = isLost || this.#acting.has(uid);
    const status = generatePodStatus({
      pod,
      runtime,
      previous,
      isPreviousRestored: this.#parts.statuses.version(uid) === 0,
      isTerminal,
      isOver,
      isUndecided,
      override:
        interruption(evicted ?? (verdict?.kind === 'preempted' ? verdict : undefined), previous) ??
        this.#deadline(pod, previous),
      rules,
      probes,
      failures,
      deviceHealth: (container) => this.#parts.deviceHealth?.(pod, container),
      runtimeName,
      stopSignals: this.#parts.stopSignals,
      waitsForVolumes: this.#parts.volumes.blockers(uid).length > 0,
      hidesReadyToStart: this.#parts.hidesReadyToStart,
      hostIps,
      resize: this.#resizeOf(uid),
      oomKills: this.#parts.oomKills.of(uid),
    });
    const shown = isUndecided ? untilDecided(pod, { status, published: previous, isLost }) : status;
    return withEviction(withVerdict(shown, verdict), evicted);
  }

  /**
   * Returns the last published status of the pod. The status in the API server is as good as the local record
   * (upstream: generateAPIPodStatus), and better if it is newer, because the record was then written late.
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

  /** Returns the milliseconds until the pod's active deadline, or undefined without one. */
  deadlineInMs(pod: Pod): number | undefined {
    const seconds = pod.spec.activeDeadlineSeconds;
    const startTime = this.#parts.statuses.get(podUid(pod.metadata.uid))?.startTime;
    if (seconds === undefined || startTime === undefined) return undefined;
    return Date.parse(startTime) + Number(seconds) * 1000 - this.#parts.clock.nowMs();
  }

  /** Returns a verdict if the active deadline has passed (upstream: active_deadline.go). */
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

  /** Returns the resize conditions and the recorded resources of a pod. */
  #resizeOf(uid: PodUid): NonNullable<PodStatusFacts['resize']> {
    const { allocation, actuated } = this.#parts;
    return {
      conditions: allocation.conditions(uid),
      actuated: {
        container: (name) => actuated.container(uid, name),
        podLevel: actuated.podLevel(uid),
      },
    };
  }

  #runtimeStatus(pod: Pod): PodRuntimeStatus {
    return this.#parts.cache.getOrEmpty({
      uid: podUid(pod.metadata.uid),
      name: pod.metadata.name,
      namespace: pod.metadata.namespace,
    });
  }
}

/**
 * Compares two statuses by facts that never go back, to find the later one: a terminal phase, and the restart counts.
 */
function isAhead(status: PodStatus | undefined, of: PodStatus): status is PodStatus {
  if (status?.containerStatuses === undefined) return false;
  if (isTerminalPhase(status?.phase) !== isTerminalPhase(of?.phase)) return isTerminalPhase(status?.phase);
  const counts = new Map(all(of).map(({ name, restartCount }) => [name, restartCount]));
  return all(status).some(({ name, restartCount }) => restartCount > (counts.get(name) ?? 0));
}

function all({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): readonly ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/**
 * Keeps the published end of containers unchanged until the sync is over. A container whose image changed ends before
 * it is recreated. For a pod that does not always restart, the API server does not accept the way back from an end
 * (upstream: statuses are generated between syncs). For a lost pod, nothing that follows from the loss is published.
 */
function untilDecided(
  pod: Pod,
  { status, published, isLost }: { status: PodStatus; published: PodStatus | undefined; isLost: boolean },
): PodStatus {
  if (published === undefined || (pod.spec.restartPolicy ?? 'Always') === 'Always') return status;
  const isHidden = ({ state }: ContainerStatus): boolean =>
    isLost ? state?.running === undefined : state?.terminated !== undefined;
  const held = (
    now: readonly ContainerStatus[] | undefined,
    before: readonly ContainerStatus[] | undefined,
  ): ContainerStatus[] | undefined =>
    now?.map((container) => {
      const earlier = before?.find(({ name }) => name === container.name);
      return earlier?.state?.running !== undefined && isHidden(container) ? { ...earlier, ready: false } : container;
    });
  const [initContainerStatuses, containerStatuses] = [
    held(status.initContainerStatuses, published.initContainerStatuses),
    held(status.containerStatuses, published.containerStatuses),
  ];
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses }),
    ...(containerStatuses && { containerStatuses }),
  };
}

/**
 * Removes a terminal phase while a container runs. Clients that wait for the end of a pod treat its resources as free
 * (upstream: status_manager.go mergePodStatus).
 */
function untilStopped(status: PodStatus, published: PodStatus | undefined, mayRun: boolean): PodStatus {
  if (!mayRun || !isTerminalPhase(status?.phase) || isTerminalPhase(published?.phase)) return status;
  const { reason: _reason, message: _message, ...rest } = status;
  const { phase = 'Pending', reason, message } = published ?? {};
  return { ...rest, phase, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/**
 * A pod that the node evicts, preempts or ends in a shutdown is Failed until nothing of it runs. Then its containers
 * determine the phase, as for any pod that ends: Succeeded, without the reason, when all of them exited with 0
 * (upstream: SyncTerminatingPod applies the verdict, and generateAPIPodStatus computes the phase again once the pod has
 * stopped).
 */
function interruption(
  verdict: Pick<PodVerdict, 'reason' | 'message'> | undefined,
  previous: PodStatus | undefined,
): StatusOverride | undefined {
  if (verdict === undefined || previous?.phase === 'Succeeded') return undefined;
  return { phase: 'Failed', reason: verdict.reason, message: verdict.message, untilStopped: true };
}

function withEviction(status: PodStatus, evicted: EvictionVerdict | undefined): PodStatus {
  const own = evicted?.condition;
  if (own === undefined) return status;
  return { ...status, conditions: [own, ...(status.conditions ?? []).filter(({ type }) => type !== own.type)] };
}

/**
 * Returns when the node accepted the pod. The time of the oldest sandbox is used, so that an agent that lost its
 * records reports the same time. Without a sandbox, it is when this agent first saw the pod.
 */
function takenInAtMs(pod: Pod, { containers, sandboxes }: PodRuntimeStatus): number | undefined {
  const oldest = sandboxes.at(-1);
  const seenMs = Date.parse(
    (oldest === undefined ? pod.metadata.annotations : oldest.annotations)?.[annotations.configSeen] ?? '',
  );
  if (Number.isFinite(seenMs)) return seenMs;
  return oldest?.createdAtMs ?? containers.at(-1)?.createdAtMs;
}
