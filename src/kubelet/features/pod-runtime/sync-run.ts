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

/** How long a start may hold its place when it hangs; well above what a start takes under load. */
const startLeaseMs = 5000;

export interface SyncPodRequest {
  pod: Pod;
  status: PodRuntimeStatus;
  /** Begins to make the volumes ready, or joins who does; called at most once, when a container is about to start. */
  volumes: () => Promise<PodVolumes>;
  /** The pod's cgroup and what else it was given; awaited before the sandbox is made. */
  placement: PodPlacement | Promise<PodPlacement>;
  signal: AbortSignal;
}

/** Something of the pod could not be done. Expected, so a value. */
export interface SyncFailure extends StartFailure {
  scope: 'kill' | 'sandbox' | 'volumes' | 'container' | 'resize';
  container?: string;
}

export interface SyncOutcome {
  failures: readonly SyncFailure[];
  waits: readonly Wait[];
  /** What was done, in order; also what failed. */
  steps: readonly Step[];
  /** Something was done: look at the pod again soon even without an event. */
  changed: boolean;
  aborted: boolean;
  /** What is known afterwards. */
  status: PodRuntimeStatus;
}

/** The state of one pass over one pod: what is known, what is under way, what came of it. */
export class SyncRun {
  readonly pod: Pod;
  readonly uid: PodUid;
  readonly signal: AbortSignal;
  readonly failures: SyncFailure[] = [];
  readonly done: Step[] = [];
  waits: readonly Wait[] = [];
  status: PodRuntimeStatus;
  /** The status that the steps under way were decided on. */
  planned: PodRuntimeStatus;
  /** The sandbox that containers go into, with the configuration it was made of. */
  sandbox: { id: SandboxId; attempt: number; ips: readonly string[] } | undefined;
  sandboxConfig: SandboxConfig | undefined;
  /** The rest of this pass's resize is left out. */
  resizeFailed = false;
  /** Monotonic: from the first step of a resize to the last one so far. */
  resize: { fromMs: number; untilMs: number } | undefined;
  /** Names and ids that had their turn in this pass; each gets one. */
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
    return this.#request.placement;
  }

  /** Begins small work when it is this pod's turn to start, at once if it is already: it is done while the sandbox is made, and never for all waiting pods at once. */
  atTurn(begin: () => void): void {
    if (this.slot === undefined) this.#atTurn.push(begin);
    else begin();
  }

  /** Takes a place among those that start; kept over several starts of this pass. */
  async takeSlot(pacer: StartPacer): Promise<PaceSlot> {
    if (this.slot === undefined) {
      this.slot = await pacer.acquire(
        { critical: isCriticalPod(this.pod), priority: podPriority(this.pod), leaseMs: startLeaseMs },
        this.signal,
      );
      for (const begin of this.#atTurn.splice(0)) begin();
    } else {
      await this.slot.renew(startLeaseMs);
    }
    return this.slot;
  }

  /** Waits without holding up others, and no longer than until the abort. */
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

/** The volumes are not ready: no container of the pod can start, and this is no fault of the one that was to. */
export class VolumesFailed extends Error {}
