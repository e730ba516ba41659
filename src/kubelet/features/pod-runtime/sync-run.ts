import { KubeletError } from '../../../base/errors.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isCriticalPod, podPriority } from '../../../api/pod.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodVolumes } from '../../model/pod-volumes.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { SandboxConfig } from '../../ports/runtime.ts';
import type { PreparedFiles } from './config/container-files.ts';
import type { ImageOutcome } from './interfaces.ts';
import type { PodPlacement } from './config/node-facts.ts';
import type { PaceSlot, StartPacer, Tracked } from './start-pacer.ts';
import { track } from './start-pacer.ts';
import type { StartFailure } from './start-failures.ts';
import type { Step, Wait } from './plan/steps.ts';
import { withContainer, withSandbox, withoutContainer } from './status-fold.ts';

/** How long a start that hangs may hold its slot; well above what a start takes under load. */
const START_LEASE_MS = 5000;

export interface SyncPodRequest {
  readonly pod: Pod;
  readonly status: PodRuntimeStatus;
  /**
   * Begins to set up the volumes, or joins a setup under way; called at most once, when a container is about to start.
   */
  readonly volumes: () => Promise<PodVolumes>;
  /**
   * Creates the pod's cgroup and allocates its other node resources; called at most once, before the sandbox is
   * created: a pod that needs no step creates no cgroup.
   */
  readonly placement: () => Promise<PodPlacement>;
  /** Called before each container is created; false ends the pass: the pod starts nothing on this node. */
  readonly mayBegin?: () => boolean;
  readonly signal: AbortSignal;
}

/** A part of the pass failed. Expected, so a value. */
export interface SyncFailure extends StartFailure {
  readonly scope: 'kill' | 'sandbox' | 'volumes' | 'container' | 'resize';
  readonly container?: string;
}

export interface SyncOutcome {
  readonly failures: readonly SyncFailure[];
  readonly waits: readonly Wait[];
  /** The steps that were executed, in order, including failed ones. */
  readonly steps: readonly Step[];
  /** A step was executed: check the pod again soon even without an event. */
  readonly changed: boolean;
  readonly aborted: boolean;
  /** The status known afterwards. */
  readonly status: PodRuntimeStatus;
}

/** The state of one pass over one pod: what is known, what is under way, and the results. */
export class SyncRun {
  readonly pod: Pod;
  readonly uid: PodUid;
  readonly signal: AbortSignal;
  readonly failures: SyncFailure[] = [];
  readonly done: Step[] = [];
  waits: readonly Wait[] = [];
  status: PodRuntimeStatus;
  /** The status on which the current steps were planned. */
  planned: PodRuntimeStatus;
  /** The sandbox for the containers, with its configuration. */
  sandbox: { id: SandboxId; attempt: number; ips: readonly string[] } | undefined;
  sandboxConfig: SandboxConfig | undefined;
  /** The rest of this pass's resize is skipped. */
  resizeFailed = false;
  /** Monotonic: from the first step of a resize to the last one so far. */
  resize: { fromMs: number; untilMs: number } | undefined;
  /** Names and ids that were tried in this pass; each gets one try. */
  readonly tried = new Set<string>();
  readonly images = new Map<string, Tracked<ImageOutcome>>();
  /** By the name of the volume. */
  readonly imageVolumes = new Map<string, Tracked<ImageOutcome>>();
  readonly prepared = new Map<string, Tracked<PreparedFiles>>();
  hostsFile: Promise<string> | undefined;
  runtimeHandler: Promise<string> | undefined;
  slot: PaceSlot | undefined;
  readonly #request: SyncPodRequest;
  #volumes: Tracked<PodVolumes> | undefined;
  #placement: Promise<PodPlacement> | undefined;
  #atTurn: (() => void)[] = [];

  constructor(request: SyncPodRequest, status: PodRuntimeStatus) {
    this.#request = request;
    this.pod = request.pod;
    this.uid = podUid(request.pod.metadata.uid);
    this.signal = request.signal;
    this.status = status;
    this.planned = status;
  }

  volumes(): Tracked<PodVolumes> {
    this.#volumes ??= track(Promise.resolve().then(() => this.#request.volumes()));
    return this.#volumes;
  }

  async placement(): Promise<PodPlacement> {
    this.#placement ??= Promise.resolve().then(() => this.#request.placement());
    return this.#placement;
  }

  /** Throws `Aborted` when the node no longer accepts the pod. */
  checkMayBegin(): void {
    if (this.#request.mayBegin?.() === false)
      throw new KubeletError('Aborted', 'the node no longer accepts the pod', { op: 'create container' });
  }

  /**
   * Begins preparatory work when it is this pod's turn to start, at once if it already is: it runs while the sandbox is
   * created, and never for all waiting pods at once.
   */
  atTurn(begin: () => void): void {
    if (this.slot === undefined) this.#atTurn.push(begin);
    else begin();
  }

  /** Takes a start slot; kept over several starts of this pass. */
  async takeSlot(pacer: StartPacer): Promise<PaceSlot> {
    if (this.slot === undefined) {
      this.slot = await pacer.acquire(
        { critical: isCriticalPod(this.pod), priority: podPriority(this.pod), leaseMs: START_LEASE_MS },
        this.signal,
      );
      for (const begin of this.#atTurn.splice(0)) begin();
    } else {
      await this.slot.renew(START_LEASE_MS);
    }
    return this.slot;
  }

  /** Waits without holding the slot, and at most until the abort. */
  async waitFor<T>(work: Tracked<T>): Promise<T> {
    if (work.settled) return work.promise;
    const wait = untilAborted(work.promise, this.signal);
    return this.slot === undefined ? wait : this.slot.yieldWhile(track(wait));
  }

  foldContainer(status: ContainerRuntimeStatus): void {
    this.status = withContainer(this.status, status);
  }

  foldSandbox(status: SandboxRuntimeStatus): void {
    this.status = withSandbox(this.status, status);
  }

  dropContainer(id: ContainerId): void {
    this.status = withoutContainer(this.status, id);
  }

  fail(failure: SyncFailure): void {
    this.failures.push(failure);
  }

  outcome(aborted: boolean): SyncOutcome {
    return {
      failures: this.failures,
      waits: this.waits,
      steps: this.done,
      changed: this.done.length > 0,
      aborted,
      status: this.status,
    };
  }
}

export type ContainerFailure = { reason: string; message: string; retryAtMs?: number };

/**
 * The volumes are not ready: no container of the pod can start, and this is no failure of the container that was to
 * start.
 */
export class VolumesFailed extends Error {}
