import type { Clock } from '../../base/clock.ts';
import { errorMessage, isKind, KubeletError, unreachable } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { isHostNetwork, isTerminalPhase, podKey } from '../../api/pod.ts';
import { containerEvents, podEvents, podReasons, waitingReasons } from '../../api/reasons.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Volume } from '../../api/core/volume.ts';
import type { AdmissionManager } from '../features/admission/admission-manager.ts';
import type { AdmissionState } from '../features/admission/admission-state.ts';
import type { AllocationManager } from '../features/allocation/allocation-manager.ts';
import type { ContainerManager } from '../features/container-manager/container-manager.ts';
import type { Failure } from '../features/explain/compute-blockers.ts';
import type { DraManager } from '../features/dra/dra-manager.ts';
import type { ExplainStore } from '../features/explain/explain-store.ts';
import type { Pleg } from '../features/pleg/pleg.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import { describeKillFailures } from '../features/pod-runtime/execute/describe-kill.ts';
import type { PodPlacement } from '../features/pod-runtime/config/node-facts.ts';
import type { PodRuntime } from '../features/pod-runtime/pod-runtime.ts';
import type { SyncFailure, SyncOutcome } from '../features/pod-runtime/sync-run.ts';
import type { PodSyncer, SyncResult } from '../features/pod-workers/pod-workers.ts';
import type { Termination, TerminatingSubject } from '../features/pod-workers/worker-state.ts';
import type { ProbeManager } from '../features/probes/probe-manager.ts';
import type { UserNamespaces } from '../features/user-namespaces/user-namespaces.ts';
import type { VolumeManager } from '../features/volumes/volume-manager.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodVolumes } from '../model/pod-volumes.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { isAnythingRunning } from '../model/runtime-status.ts';
import type { PodObjects } from '../ports/cluster-objects.ts';
import type { EventRecorder } from '../ports/recorder.ts';
import type { NamespaceOptions } from '../ports/runtime.ts';
import type { ClusterPods } from './cluster-pods.ts';
import type { PodCleanup } from './pod-cleanup.ts';
import type { ResourceManagers } from './resource-managers.ts';
import type { RuntimeMonitor } from './runtime-monitor.ts';
import type { StatusUpdater } from './status-updater.ts';

/** The features that syncing a pod needs, each reduced to the methods used. */
export interface PodSyncerParts {
  readonly runtime: Pick<PodRuntime, 'syncPod' | 'killPod' | 'isResizeUnderWay' | 'runtimeHandlerOf'>;
  readonly allocation: Pick<AllocationManager, 'apply' | 'saved' | 'noteProgress' | 'noteError' | 'podEnded'>;
  readonly cache: Pick<RuntimeCache, 'getOrEmpty' | 'isRead' | 'isSure'>;
  readonly pleg: Pick<Pleg, 'refresh'>;
  /** Keeps secrets, config maps and tokens available as long as the pod may need them. */
  readonly objects: PodObjects;
  readonly volumes: Pick<VolumeManager, 'ensure' | 'podEnds' | 'tearDown'>;
  readonly cgroups: Pick<ContainerManager, 'ensurePodCgroup' | 'removePodCgroup'>;
  readonly managers: Pick<ResourceManagers, 'place'>;
  /** Prepares and releases resource claims. */
  readonly dra: Pick<DraManager, 'prepare' | 'unprepare'>;
  readonly userNamespaces: Pick<UserNamespaces, 'ensure' | 'release'>;
  /** Creates the folder of the pod's own files on the host. */
  readonly makePodFolder: (uid: PodUid) => Promise<void>;
  readonly probes: Pick<ProbeManager, 'stopLivenessAndStartup' | 'removePod'>;
  readonly admission: Pick<AdmissionManager, 'admit' | 'mayBegin' | 'withdraw' | 'podStopped'>;
  readonly status: Pick<StatusUpdater, 'refresh' | 'whileActing' | 'deadlineInMs'>;
  readonly explain: Pick<ExplainStore, 'setOutcome'>;
  readonly monitor: Pick<RuntimeMonitor, 'networkError'>;
  readonly cleanup: Pick<PodCleanup, 'collect' | 'forget'>;
  /** The API pods of this node; undefined on a standalone node. */
  readonly clusterPods: Pick<ClusterPods, 'released'> | undefined;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The time for which ErrImagePull is shown before the status changes to ImagePullBackOff. */
const SHOW_PULL_BACKOFF_MS = 1000;

/** Syncs one pod once, by phase (upstream: kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatedPod). */
export class KubeletPodSyncer implements PodSyncer {
  readonly #parts: PodSyncerParts;
  /** Running pods that this agent has synced at least once. */
  readonly #passed = new Set<PodUid>();
  /** Pods whose volumes are being refreshed concurrently with their syncs. */
  readonly #following = new Set<PodUid>();

  constructor(parts: PodSyncerParts) {
    this.#parts = parts;
  }

  /**
   * Syncs a running pod. The order is that of upstream's SyncPod, except that pod-runtime prepares volumes, images and
   * the sandbox concurrently.
   */
  async syncPod({ pod: wanted, signal }: { pod: Pod; signal: AbortSignal }): Promise<SyncResult> {
    const { status, explain, monitor, runtime, cache, recorder } = this.#parts;
    const uid = podUid(wanted.metadata.uid);
    if (!cache.isRead(uid))
      throw new KubeletError('Unavailable', 'the runtime has not reported the state of this pod yet', {
        op: 'read pod',
      });
    if (!cache.isSure(uid))
      await this.#telling(
        wanted,
        { reason: podEvents.failedSync, what: 'error determining status' },
        this.#parts.pleg.refresh(uid),
      );
    const state = this.#parts.admission.admit(wanted);
    const pod = this.#parts.allocation.apply(wanted);
    await this.#parts.allocation.saved(uid);
    const before = status.refresh(uid);
    if (before?.reason === podReasons.deadlineExceeded)
      recorder.event(pod, 'Normal', podEvents.deadlineExceeded, before.message ?? '');
    if (isTerminalPhase(before?.phase)) return { terminal: true };
    if (state.kind === 'held') return this.#waitForAdmission(pod, state);
    const problem = isHostNetwork(pod) ? undefined : monitor.networkError();
    if (problem !== undefined) return this.#waitForNetwork(pod, problem);
    this.#parts.objects.registerPod(pod);
    const actual = cache.getOrEmpty(nameOf(pod));
    if (isAnythingRunning(actual)) {
      await this.#killUngrouped(pod, actual, signal);
      // The pod may have ended meanwhile, and an ended pod is not created again. So the phase and the plan must come
      // from the same snapshot.
      if (isTerminalPhase(status.refresh(uid)?.phase)) return { terminal: true };
    }
    const request = {
      pod,
      status: cache.getOrEmpty(nameOf(pod)),
      placement: () => this.#place(pod, signal),
      volumes: () => this.#mountVolumes(pod, signal),
      mayBegin: () => this.#parts.admission.mayBegin(wanted),
      signal,
    };
    const outcome = await status.whileActing(uid, () => runtime.syncPod(request));
    this.#noteResize(wanted, outcome);
    explain.setOutcome(uid, this.#blockersOf(outcome));
    this.#followObjects(pod, signal);
    // The sync may have taken longer than the pod's deadline, for which there is no event.
    return {
      terminal: isTerminalPhase(status.refresh(uid)?.phase),
      retryInMs: this.#retryInMs(pod, outcome),
      failed: outcome.failures.some((failure) => failure.retryAtMs === undefined),
    };
  }

  /**
   * Mounts the volumes. The sandbox may be ready already, so the condition PodReadyToStartContainers waits only for the
   * volumes.
   */
  async #mountVolumes(pod: Pod, signal: AbortSignal): Promise<PodVolumes> {
    const { status, volumes } = this.#parts;
    const mounted = await volumes.ensure(pod, signal);
    status.refresh(podUid(pod.metadata.uid));
    return mounted;
  }

  /** Prepares what the pod needs before its sandbox and containers are created. */
  async #place(pod: Pod, signal: AbortSignal): Promise<PodPlacement> {
    const { cgroups, makePodFolder, managers } = this.#parts;
    const resources = await managers.place(pod);
    await this.#telling(
      pod,
      { reason: podEvents.failedPrepareDynamicResources, what: 'Failed to prepare dynamic resources' },
      this.#parts.dra.prepare(pod, signal),
    );
    const group = this.#telling(
      pod,
      { reason: podEvents.failedCreatePodContainer, what: 'unable to ensure pod container exists' },
      cgroups.ensurePodCgroup(pod),
    );
    const folder = this.#telling(
      pod,
      { reason: containerEvents.failed, what: 'error making pod data directories' },
      makePodFolder(podUid(pod.metadata.uid)),
    );
    const [{ cgroupParent, existed }, userns] = await Promise.all([group, this.#userNamespace(pod), folder]);
    return { cgroupParent, groupExisted: existed, userns, ...resources };
  }

  /**
   * Returns the user namespace mapping. Only a pod with a user namespace depends on the features of its runtime
   * handler.
   */
  async #userNamespace(pod: Pod): Promise<NamespaceOptions['userns']> {
    const { userNamespaces, runtime } = this.#parts;
    const handler = pod.spec.hostUsers === false ? await runtime.runtimeHandlerOf(pod) : '';
    return userNamespaces.ensure(pod, handler);
  }

  /** Records an event of the pod if `work` fails. An interruption is not a failure. */
  async #telling<T>(pod: Pod, event: { reason: string; what: string }, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!isKind(error, 'Aborted'))
        this.#parts.recorder.event(pod, 'Warning', event.reason, `${event.what}: ${errorMessage(error)}`);
      throw error;
    }
  }

  /**
   * Records the progress of a resize. Upstream reports it at the beginning of the next sync; here the sync that made
   * the progress reports it. The result is compared with the current allocation, because the allocation may have
   * changed during the sync.
   */
  #noteResize(wanted: Pod, outcome: SyncOutcome): void {
    const { allocation, runtime } = this.#parts;
    const pod = allocation.apply(wanted);
    const failure = outcome.failures.find(({ scope }) => scope === 'resize');
    if (failure !== undefined) allocation.noteError(pod, failure.message);
    else if (!outcome.aborted) allocation.noteProgress(pod, runtime.isResizeUnderWay(pod, outcome.status));
  }

  async syncTerminatingPod(work: {
    subject: TerminatingSubject;
    termination: Termination;
    signal: AbortSignal;
  }): Promise<void> {
    const { subject, termination, signal } = work;
    const { cache, cleanup, explain, probes, runtime, status } = this.#parts;
    const pod = subject.kind === 'pod' ? subject.pod : undefined;
    const identity = subject.kind === 'pod' ? nameOf(subject.pod) : subject.runtime;
    const { uid } = identity;
    this.#parts.admission.withdraw(uid);
    probes.stopLivenessAndStartup(uid);
    this.#parts.volumes.podEnds(uid);
    this.#parts.clusterPods?.released(uid, false);
    status.refresh(uid);
    const graceMs = termination.cause === 'completed' ? undefined : termination.graceMs;
    const outcome = await runtime.killPod({ pod, status: cache.getOrEmpty(identity), graceMs, signal });
    if (outcome.aborted) throw new KubeletError('Aborted', 'stopping the pod was interrupted');
    explain.setOutcome(uid, { failures: outcome.failures.map((failure) => this.#failure(failure)), waits: [] });
    if (outcome.failures.length > 0) {
      const message = describeKillFailures(uid, outcome.failures);
      this.#parts.recorder.event(
        pod ?? podOf(identity),
        'Warning',
        podEvents.failedKillPod,
        `error killing pod: ${message}`,
      );
      throw new KubeletError('Internal', message, { op: 'kill pod' });
    }
    await this.#makeSureNothingRuns(uid);
    await this.#parts.dra.unprepare(uid, signal);
    probes.removePod(uid);
    status.refresh(uid);
    if (subject.kind === 'orphan') await cleanup.collect(uid);
  }

  async syncTerminatedPod({ pod, all }: { pod: Pod; all: boolean; signal: AbortSignal }): Promise<void> {
    const { status, volumes, cgroups, userNamespaces, explain, cleanup } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    this.#parts.allocation.podEnded(uid);
    this.#parts.admission.podStopped(uid);
    status.refresh(uid);
    await volumes.tearDown(uid);
    this.#parts.objects.unregisterPod(pod);
    await cgroups.removePodCgroup(uid);
    await userNamespaces.release(uid);
    this.#parts.clusterPods?.released(uid, true);
    if (all) await cleanup.collect(uid);
    explain.setOutcome(uid, { failures: [], waits: [] });
  }

  finished({ uid, pod, gone, revived }: { uid: PodUid; pod: Pod | undefined; gone: boolean; revived: boolean }): void {
    const { probes, status, cleanup } = this.#parts;
    probes.removePod(uid);
    this.#passed.delete(uid);
    if (gone) cleanup.forget(uid, { pod, revived });
    else status.refresh(uid);
  }

  async #makeSureNothingRuns(uid: PodUid): Promise<void> {
    const left = await this.#parts.pleg.refresh(uid);
    if (left === undefined || !isAnythingRunning(left)) return;
    const names = left.containers
      .filter((container) => container.state === 'running')
      .map((container) => container.name);
    throw new KubeletError(
      'Conflict',
      `still running after the kill: ${names.length === 0 ? 'the sandbox' : names.join(', ')}`,
      { op: 'kill pod' },
    );
  }

  /**
   * Stops a running pod whose cgroup was removed, so that it is created again: its limits no longer apply (upstream:
   * SyncPod kills when the pod cgroup does not exist).
   */
  async #killUngrouped(pod: Pod, actual: PodRuntimeStatus, signal: AbortSignal): Promise<void> {
    const { cgroups, runtime, log } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const { existed } = await cgroups.ensurePodCgroup(pod);
    const isFirstPass = !this.#passed.has(uid);
    this.#passed.add(uid);
    // A pod that this agent has only just found may come from an agent that created no cgroups.
    if (existed || isFirstPass) return;
    log.warn('the cgroup of a running pod was removed; restarting the pod', { pod: podKey(pod) });
    await runtime.killPod({ pod, status: actual, signal });
  }

  /** Reports the pod as waiting. The admission manager wakes the pod when it has decided. */
  #waitForAdmission(pod: Pod, { by, why, sinceMs, nextTryAtMs }: AdmissionState & { kind: 'held' }): SyncResult {
    const failure: Failure = {
      step: `be admitted to the node by ${by}`,
      reason: why,
      message: '',
      sinceMs,
      ...(nextTryAtMs === undefined ? {} : { retryAtMs: nextTryAtMs }),
    };
    this.#parts.explain.setOutcome(podUid(pod.metadata.uid), { failures: [failure], waits: [] });
    return { terminal: false, retryInMs: this.#parts.status.deadlineInMs(pod) };
  }

  #waitForNetwork(pod: Pod, problem: string): SyncResult {
    const { recorder, explain, clock } = this.#parts;
    recorder.event(pod, 'Warning', podEvents.networkNotReady, `network is not ready: ${problem}`);
    const failure: Failure = {
      step: 'create the sandbox',
      reason: podEvents.networkNotReady,
      message: problem,
      sinceMs: clock.nowMs(),
    };
    explain.setOutcome(podUid(pod.metadata.uid), { failures: [failure], waits: [] });
    // The runtime monitor wakes the pod when the network is ready.
    return { terminal: false, failed: true };
  }

  /**
   * Keeps the volumes of a running pod up to date with their objects. Syncs of a running pod mount no volumes. After a
   * restart of the agent, however, each volume must be set up once, so that it shows the current content, follows its
   * objects, and its driver is called again. After that, this costs only a map lookup.
   */
  #followObjects(pod: Pod, signal: AbortSignal): void {
    const uid = podUid(pod.metadata.uid);
    if (this.#following.has(uid) || pod.spec.volumes?.some(followsOthers) !== true) return;
    this.#following.add(uid);
    void this.#parts.volumes
      .ensure(pod, signal)
      .catch((error: unknown) =>
        this.#parts.log.debug(2, 'volumes of a running pod are not up to date yet', {
          podUid: uid,
          error: errorMessage(error),
        }),
      )
      .finally(() => this.#following.delete(uid));
  }

  #blockersOf(outcome: SyncOutcome): Parameters<PodSyncerParts['explain']['setOutcome']>[1] {
    const waits = outcome.waits.map(({ container, untilMs, why }) => ({ container, untilMs, why }));
    return { failures: outcome.failures.map((failure) => this.#failure(failure)), waits };
  }

  #failure(failure: {
    scope: SyncFailure['scope'];
    container?: string;
    reason: string;
    message: string;
    retryAtMs?: number;
  }): Failure {
    const { reason, message, retryAtMs } = failure;
    const blocked: Failure = { step: stepOf(failure), reason, message, sinceMs: this.#parts.clock.nowMs() };
    if (retryAtMs !== undefined) blocked.retryAtMs = retryAtMs;
    return blocked;
  }

  /**
   * Returns the earliest time at which the pod needs another sync: a back-off, a retry or the active deadline. Returns
   * undefined if the usual resync suffices.
   */
  #retryInMs(pod: Pod, outcome: SyncOutcome): number | undefined {
    const nowMs = this.#parts.clock.nowMs();
    const timed = outcome.failures.flatMap((failure) =>
      failure.retryAtMs === undefined ? [] : [failure.retryAtMs - nowMs],
    );
    // The next sync finds the back-off and shows ImagePullBackOff, which users and tools look for.
    if (outcome.failures.some((failure) => failure.reason === waitingReasons.errImagePull))
      timed.push(SHOW_PULL_BACKOFF_MS);
    const deadline = this.#parts.status.deadlineInMs(pod);
    const all = [
      ...timed,
      ...outcome.waits.map((wait) => wait.untilMs - nowMs),
      ...(deadline === undefined || deadline <= 0 ? [] : [deadline]),
    ];
    if (outcome.aborted) all.push(0);
    return all.length === 0 ? undefined : Math.max(0, Math.min(...all));
  }
}

function followsOthers({
  configMap,
  secret,
  projected,
  downwardAPI,
  csi,
  persistentVolumeClaim,
  ephemeral,
}: Volume): boolean {
  return [configMap, secret, projected, downwardAPI, csi, persistentVolumeClaim, ephemeral].some(
    (source) => source !== undefined,
  );
}

function stepOf({ scope, container }: { scope: SyncFailure['scope']; container?: string }): string {
  switch (scope) {
    case 'kill':
      return container === undefined ? 'stop the pod' : `stop container ${container}`;
    case 'sandbox':
      return 'create the sandbox';
    case 'volumes':
      return 'mount the volumes';
    case 'resize':
      return 'change the resources of the pod';
    case 'container':
      return `start container ${container ?? ''}`.trimEnd();
    default:
      return unreachable(scope);
  }
}

/** Builds a pod from its name, because no source lists it any more. */
function podOf({ uid, name, namespace }: { uid: PodUid; name: string; namespace: string }): Pod {
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}

function nameOf(pod: Pod): { uid: PodUid; name: string; namespace: string } {
  return { uid: podUid(pod.metadata.uid), name: pod.metadata.name, namespace: pod.metadata.namespace };
}
