import type { Clock } from '../../base/clock.ts';
import { errorMessage, isKind, KubeletError, unreachable } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { isHostNetwork, podKey } from '../../api/pod.ts';
import { containerEvents, podEvents, podReasons, waitingReasons } from '../../api/reasons.ts';
import type { PodStatus } from '../../api/core/pod-status.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Volume } from '../../api/core/volume.ts';
import type { Standing } from '../features/admission/standing.ts';
import type { Failure } from '../features/explain/compute-blockers.ts';
import { describeKillFailures } from '../features/pod-runtime/execute/describe-kill.ts';
import type { KillOutcome, KillPodRequest } from '../features/pod-runtime/execute/kill-pod.ts';
import type { PodPlacement } from '../features/pod-runtime/config/node-facts.ts';
import type { SyncFailure, SyncOutcome, SyncPodRequest } from '../features/pod-runtime/sync-run.ts';
import type { PodSyncer, SyncResult } from '../features/pod-workers/pod-workers.ts';
import type { Termination, TerminatingSubject } from '../features/pod-workers/worker-state.ts';
import { podUid, type PodUid } from '../model/ids.ts';
import type { PodVolumes } from '../model/pod-volumes.ts';
import { isAnythingRunning, type PodRuntimeStatus } from '../model/runtime-status.ts';
import type { PodObjects } from '../ports/cluster-objects.ts';
import type { EventRecorder } from '../ports/recorder.ts';
import type { NamespaceOptions } from '../ports/runtime.ts';
import type { StatusUpdater } from './status-updater.ts';

/** The features a pass over a pod needs, each by what is needed of it. */
export interface PodSyncerParts {
  runtime: {
    syncPod(request: SyncPodRequest): Promise<SyncOutcome>;
    killPod(request: KillPodRequest): Promise<KillOutcome>;
    isResizeUnderWay(pod: Pod, status: PodRuntimeStatus): boolean;
  };
  allocation: {
    /** The pod with the resources it was granted, which are those it runs with. */
    apply(pod: Pod): Pod;
    /** A grant to a running pod is on the disk before it is acted on. */
    saved(uid: PodUid): Promise<void> | undefined;
    noteProgress(pod: Pod, isUnderWay: boolean): void;
    noteError(pod: Pod, message: string): void;
    podEnded(uid: PodUid): void;
  };
  cache: {
    getOrEmpty(pod: { uid: PodUid; name: string; namespace: string }): PodRuntimeStatus;
    /** false while nothing sure is known of the pod: it may run, and a second instance must not be started. */
    isRead(uid: PodUid): boolean;
    /** false also while the last reading failed, or while nobody knows what came of a call of the agent's. */
    isSure(uid: PodUid): boolean;
  };
  /** Reads the pod anew from the runtime; undefined when nothing is left of it. */
  readRuntime: (uid: PodUid) => Promise<PodRuntimeStatus | undefined>;
  /** Secrets, config maps and tokens are had for as long as the pod may need them. */
  objects: PodObjects;
  volumes: {
    ensure(pod: Pod, signal: AbortSignal): Promise<PodVolumes>;
    podEnds(uid: PodUid): void;
    tearDown(uid: PodUid): Promise<void>;
  };
  cgroups: {
    ensurePodCgroup(pod: Pod): Promise<{ cgroupParent: string; existed: boolean }>;
    removePodCgroup(uid: PodUid): Promise<void>;
  };
  userNamespaces: { ensure(pod: Pod): Promise<NamespaceOptions['userns']>; release(uid: PodUid): Promise<void> };
  /** The folder of the pod's own files on the host. */
  makePodFolder: (uid: PodUid) => Promise<void>;
  probes: { stopLivenessAndStartup(uid: PodUid): void; removePod(uid: PodUid): void };
  admission: {
    /** Where the pod stands; judges one that was never judged. */
    consider(pod: Pod): Standing;
    withdraw(uid: PodUid): void;
    podStopped(uid: PodUid): void;
  };
  status: Pick<StatusUpdater, 'refresh' | 'whileActing' | 'deadlineInMs'>;
  explain: {
    setOutcome(
      uid: PodUid,
      outcome: { failures: readonly Failure[]; waits: readonly { container: string; untilMs: number; why: string }[] },
    ): void;
  };
  /** Why pods that are not on the host's network must wait; undefined when the network is ready. */
  networkError: () => string | undefined;
  /** Removes what a stopped pod left in the runtime: dead containers, sandboxes, logs. */
  collect: (uid: PodUid) => Promise<void>;
  /** Whether all the pod held of the node was given back: whoever waits for its end need wait no longer. */
  onReleased: (uid: PodUid, isReleased: boolean) => void;
  /** Forgets what is remembered of the pod, at once. */
  /** `revived`: it begins anew under its uid at once. */
  forget: (uid: PodUid, gone: { pod: Pod | undefined; revived: boolean }) => void;
  recorder: EventRecorder;
  clock: Clock;
  log: Logger;
}

/** A failed pull is told as such this long before its container is told as waiting for the next one. */
const SHOW_PULL_BACKOFF_MS = 1000;

/** One pass over one pod, phase by phase (upstream: kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatedPod). */
export class KubeletPodSyncer implements PodSyncer {
  readonly #parts: PodSyncerParts;
  /** Running pods that this agent has passed over at least once. */
  readonly #passed = new Set<PodUid>();
  /** Pods whose volumes are being brought up to date beside the passes. */
  readonly #following = new Set<PodUid>();

  constructor(parts: PodSyncerParts) {
    this.#parts = parts;
  }

  /** Order as upstream's SyncPod; but volumes, images and the sandbox are made side by side, by pod-runtime. */
  async syncPod({ pod: wanted, signal }: { pod: Pod; signal: AbortSignal }): Promise<SyncResult> {
    const { status, explain, networkError, volumes, runtime, cache, recorder } = this.#parts;
    const uid = podUid(wanted.metadata.uid);
    if (!cache.isRead(uid))
      throw new KubeletError('Unavailable', 'the runtime has not told yet what runs of this pod', { op: 'read pod' });
    if (!cache.isSure(uid))
      await this.#telling(
        wanted,
        { reason: podEvents.failedSync, what: 'error determining status' },
        this.#parts.readRuntime(uid),
      );
    const standing = this.#parts.admission.consider(wanted);
    const pod = this.#parts.allocation.apply(wanted);
    await this.#parts.allocation.saved(uid);
    const before = status.refresh(uid);
    if (before?.reason === podReasons.deadlineExceeded)
      recorder.event(pod, 'Normal', podEvents.deadlineExceeded, before.message ?? '');
    if (isTerminal(before)) return { terminal: true };
    if (standing.kind === 'held') return this.#waitForAdmission(pod, standing);
    const problem = isHostNetwork(pod) ? undefined : networkError();
    if (problem !== undefined) return this.#waitForNetwork(pod, problem);
    this.#parts.objects.registerPod(pod);
    const actual = cache.getOrEmpty(nameOf(pod));
    if (isAnythingRunning(actual)) {
      await this.#killUngrouped(pod, actual, signal);
      // The pod may have ended meanwhile, and one that has is not made again: the phase and what is acted on must be of one moment.
      if (isTerminal(status.refresh(uid))) return { terminal: true };
    }
    const request = {
      pod,
      status: cache.getOrEmpty(nameOf(pod)),
      placement: lazily(() => this.#place(pod)),
      volumes: () => volumes.ensure(pod, signal),
      signal,
    };
    const outcome = await status.whileActing(uid, () => runtime.syncPod(request));
    this.#noteResize(wanted, outcome);
    explain.setOutcome(uid, this.#blockersOf(outcome));
    this.#followObjects(pod, signal);
    // The pass may have outlived the pod's deadline, of which no event tells.
    return {
      terminal: isTerminal(status.refresh(uid)),
      retryInMs: this.#retryInMs(pod, outcome),
      failed: outcome.failures.some((failure) => failure.retryAtMs === undefined),
    };
  }

  /** What the pod is given before anything of it is made. */
  async #place(pod: Pod): Promise<PodPlacement> {
    const { cgroups, userNamespaces, makePodFolder } = this.#parts;
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
    const [{ cgroupParent, existed }, userns] = await Promise.all([group, userNamespaces.ensure(pod), folder]);
    return { cgroupParent, groupExisted: existed, userns };
  }

  /** A failure of `work` is also an event of the pod; being interrupted is none. */
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
   * Upstream tells of progress at the beginning of the next pass; here the pass that did it tells. It is measured by what is granted by now:
   * a grant that came during the pass is not done because an earlier one is.
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
    const { cache, collect, explain, probes, runtime, status } = this.#parts;
    const pod = subject.kind === 'pod' ? subject.pod : undefined;
    const identity = subject.kind === 'pod' ? nameOf(subject.pod) : subject.runtime;
    const { uid } = identity;
    this.#parts.admission.withdraw(uid);
    probes.stopLivenessAndStartup(uid);
    this.#parts.volumes.podEnds(uid);
    this.#parts.onReleased(uid, false);
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
    probes.removePod(uid);
    status.refresh(uid);
    if (subject.kind === 'orphan') await collect(uid);
  }

  async syncTerminatedPod({ pod, all }: { pod: Pod; all: boolean; signal: AbortSignal }): Promise<void> {
    const { status, volumes, cgroups, userNamespaces, explain, collect } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    this.#parts.allocation.podEnded(uid);
    this.#parts.admission.podStopped(uid);
    status.refresh(uid);
    await volumes.tearDown(uid);
    this.#parts.objects.unregisterPod(pod);
    await cgroups.removePodCgroup(uid);
    await userNamespaces.release(uid);
    this.#parts.onReleased(uid, true);
    if (all) await collect(uid);
    explain.setOutcome(uid, { failures: [], waits: [] });
  }

  finished({ uid, pod, gone, revived }: { uid: PodUid; pod: Pod | undefined; gone: boolean; revived: boolean }): void {
    const { probes, status, forget } = this.#parts;
    probes.removePod(uid);
    this.#passed.delete(uid);
    if (gone) forget(uid, { pod, revived });
    else status.refresh(uid);
  }

  async #makeSureNothingRuns(uid: PodUid): Promise<void> {
    const left = await this.#parts.readRuntime(uid);
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
   * A pod that runs though its cgroup was not there had it removed under it: its limits hold no more, so it is stopped and made anew
   * (upstream: SyncPod kills when the pod cgroup does not exist).
   */
  async #killUngrouped(pod: Pod, actual: PodRuntimeStatus, signal: AbortSignal): Promise<void> {
    const { cgroups, runtime, log } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const { existed } = await cgroups.ensurePodCgroup(pod);
    const isFirstPass = !this.#passed.has(uid);
    this.#passed.add(uid);
    // A pod this agent has only just found may come from an agent that made no groups.
    if (existed || isFirstPass) return;
    log.warn('the cgroup of a running pod was gone; stopping the pod, it is started again', { pod: podKey(pod) });
    await runtime.killPod({ pod, status: actual, signal });
  }

  /** The desk wakes the pod when it is decided. */
  #waitForAdmission(pod: Pod, { by, why, sinceMs, nextTryAtMs }: Standing & { kind: 'held' }): SyncResult {
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
    // The monitor wakes the pod when the network is there.
    return { terminal: false, failed: true };
  }

  /**
   * A pod that runs already asks for no volumes in its passes; but after a restart of the agent its volumes must show what their objects hold
   * now, and follow them from then on; drivers of volumes are asked again, too. Once that is so, this costs a look into a map.
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

  /** The earliest of what waits for a time: a back-off, a retry, the active deadline. undefined: nothing but the usual resync. */
  #retryInMs(pod: Pod, outcome: SyncOutcome): number | undefined {
    const nowMs = this.#parts.clock.nowMs();
    const timed = outcome.failures.flatMap((failure) =>
      failure.retryAtMs === undefined ? [] : [failure.retryAtMs - nowMs],
    );
    // The next pass finds the back-off and shows it: people and tools look for ImagePullBackOff, not for the first error.
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

function isTerminal(status: PodStatus | undefined): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** Of a pod that nobody wants any more its name is all that is left to say something of. */
function podOf({ uid, name, namespace }: { uid: PodUid; name: string; namespace: string }): Pod {
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}

function nameOf(pod: Pod): { uid: PodUid; name: string; namespace: string } {
  return { uid: podUid(pod.metadata.uid), name: pod.metadata.name, namespace: pod.metadata.namespace };
}

/** A promise whose work begins when it is first awaited: a pod that needs nothing makes no cgroup. */
function lazily<T>(begin: () => Promise<T>): Promise<T> {
  let begun: Promise<T> | undefined;
  return { then: (resolve: never, reject: never) => (begun ??= begin()).then(resolve, reject) } as Promise<T>;
}
