import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { allocationOf } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { podEvents } from '../../../api/reasons.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { AllocatedPods } from './allocated-pods.ts';
import { decideResize, rankPending } from './decide-resize.ts';
import type { InfeasibleCause, ResizeNode } from './decide-resize.ts';
import { rebuildAllocation } from './rebuild-allocation.ts';
import type { ResourceCheckpoint } from './resource-checkpoint.ts';
import {
  resizeConditions,
  stateOfConditions,
  withoutPending,
  withoutProgress,
  withPending,
  withProgress,
} from './resize-conditions.ts';
import type { ResizeState } from './resize-conditions.ts';
import { resizeMessage } from './resize-messages.ts';

export interface AllocationManagerOptions {
  /** Reads the record `allocated`. */
  readonly allocatedPods: AllocatedPods;
  readonly allocated: ResourceCheckpoint;
  /** The record of actuated resources, from which lost allocations are restored. */
  readonly actuated: Pick<ResourceCheckpoint, 'get' | 'remove' | 'retain'>;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly node: () => ResizeNode;
  /** The pods of the node as their sources want them. */
  readonly pods: () => readonly Pod[];
  /** Whether the pod has ended or is being stopped permanently. */
  readonly isOver: (uid: PodUid) => boolean;
  /**
   * Returns why the pod does not fit beside the other pods with their allocated resources, or undefined when it fits.
   */
  readonly misfit: (pod: Pod, others: readonly Pod[]) => { reason: string; message: string } | undefined;
  /** Whether all pods of the node are known. No resize is allocated before. */
  readonly sourcesReady: () => boolean;
  /** Returns the running containers of a pod, or undefined while they are unknown. */
  readonly runtime: (uid: PodUid) => PodRuntimeStatus | undefined;
  /** Returns the conditions that this run of the agent or an earlier one published. */
  readonly publishedConditions: (uid: PodUid) => readonly PodCondition[];
  /** Called when the resize conditions of a pod changed. */
  readonly onChange: (uid: PodUid) => void;
  /** Called when the allocated resources of a pod differ from the actual ones, so that they are actuated. */
  readonly onAllocated: (uid: PodUid) => void;
  readonly observe?: ResizeObserver;
}

/** Why pending resizes were tried again (upstream: allocation_manager.go TriggerReason*). */
export type RetryTrigger =
  | 'pods_added'
  | 'pod_updated'
  | 'pods_removed'
  | 'pod_terminated'
  | 'pod_resized'
  | 'periodic_retry';

export interface ResizeObserver {
  /** Counts a deferred resize that was allocated. */
  deferredAccepted(trigger: RetryTrigger): void;
  /** Counts a resize that can never be allocated. */
  infeasible(cause: InfeasibleCause): void;
}

/** Upstream's retry intervals. Here they are only a fallback for missed events. */
const FIRST_RETRY_MS = 30_000;
const RETRY_MS = 180_000;

/**
 * Manages the allocated resources of each pod and decides on resizes (upstream: allocation_manager.go). Invariants:
 * 1. A pod runs with its allocated resources (`apply`), not with those that its source requests.
 * 2. A new pod is allocated what it requests. A pod with a recorded allocation keeps it, also across a restart of the
 *    agent.
 * 3. An allocation is on disk before a running pod is changed (`saved`), so that a restarted agent does not undo a
 *    resize in progress.
 * 4. A resize is allocated, deferred or infeasible. Deferred resizes are tried again when a pod is added, is removed,
 *    ends or shrinks.
 */
export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  readonly #states = new Map<PodUid, ResizeState>();
  readonly #pending = new Set<PodUid>();
  readonly #saving = new Map<PodUid, Promise<void>>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: AllocationManagerOptions) {
    this.#options = options;
  }

  /** Returns the pod with its allocated resources. */
  apply(pod: Pod): Pod {
    return this.#options.allocatedPods.apply(pod);
  }

  /**
   * Resolves when the last allocation of a running pod is on disk or could not be written. Returns undefined when no
   * write is pending.
   */
  saved(uid: PodUid): Promise<void> | undefined {
    return this.#saving.get(uid);
  }

  /**
   * Allocates the resources of an admitted pod. The pod keeps its recorded allocation. Without a record it is allocated
   * what it requests, or what its containers already run with.
   */
  podAdded(pod: Pod): void {
    const { allocated, actuated, runtime } = this.#options;
    const uid = podUid(pod.metadata.uid);
    if (allocated.get(uid) === undefined) allocated.set(uid, rebuildAllocation(pod, runtime(uid), actuated.get(uid)));
    if (this.apply(pod) !== pod) this.#pending.add(uid);
    this.retry('pods_added');
  }

  /** Handles a new spec of a pod from its source. */
  podUpdated(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    const { allocated } = this.#options;
    const allocation = allocated.get(uid);
    if (allocation !== undefined) this.#adoptNewContainers(uid, pod, allocation);
    if (this.apply(pod) === pod) {
      // The resize was withdrawn.
      this.#pending.delete(uid);
      this.#change(uid, withoutPending(this.#state(uid)));
      return;
    }
    this.#pending.add(uid);
    this.retry('pod_updated');
  }

  podRemoved(uid: PodUid): void {
    this.#pending.delete(uid);
    this.retry('pods_removed');
  }

  /** Forgets a pod that is removed from the node. */
  forget(uid: PodUid): void {
    const { allocated, actuated } = this.#options;
    this.#pending.delete(uid);
    this.#states.delete(uid);
    allocated.remove(uid);
    actuated.remove(uid);
  }

  /** Drops records of unknown pods. */
  retain(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    this.#options.allocated.retain(known);
    this.#options.actuated.retain(known);
  }

  /** Tries every pending resize until none can be allocated, because resources that one pod frees may serve another. */
  retry(trigger: RetryTrigger = 'periodic_retry'): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#pending.size === 0 || this.#stopped) return;
    if (!this.#options.sourcesReady()) return this.#retryWithin(FIRST_RETRY_MS);
    let progress = true;
    while (progress && this.#pending.size > 0) {
      progress = false;
      for (const uid of this.#ranked()) if (this.#try(uid, trigger)) progress = true;
    }
    if (this.#pending.size > 0) this.#retryWithin(RETRY_MS);
  }

  /** Records whether a resize is still in progress. It is called by the sync of the pod. */
  noteProgress(pod: Pod, isUnderWay: boolean): void {
    const { recorder, clock } = this.#options;
    const uid = podUid(pod.metadata.uid);
    const state = this.#state(uid);
    if (isUnderWay)
      return this.#change(
        uid,
        withProgress(state, { reason: '', message: '', generation: generationOf(pod) }, clock.nowMs()).state,
      );
    if (state.inProgress === undefined) return;
    this.#change(uid, withoutProgress(state));
    recorder.event(pod, 'Normal', podEvents.resizeCompleted, resizeMessage('completed', pod, state.inProgress));
    this.retry('pod_resized');
  }

  noteError(pod: Pod, message: string): void {
    const { recorder, clock } = this.#options;
    const uid = podUid(pod.metadata.uid);
    const { state, news } = withProgress(
      this.#state(uid),
      { reason: 'Error', message, generation: generationOf(pod) },
      clock.nowMs(),
    );
    this.#change(uid, state);
    if (news)
      recorder.event(
        pod,
        'Warning',
        podEvents.resizeError,
        resizeMessage('error', pod, { generation: state.inProgress?.generation ?? 0, error: message }),
      );
  }

  /** Returns the conditions for the pod's status; none if the pod has ended. */
  conditions(uid: PodUid): PodCondition[] {
    return resizeConditions(this.#state(uid));
  }

  /** Returns how many resizes are pending, by their reported reason, and how many are in progress. */
  counts(): { pending: ReadonlyMap<string, number>; inProgress: number } {
    const pending = new Map<string, number>();
    let inProgress = 0;
    for (const state of this.#states.values()) {
      if (state.pending !== undefined) pending.set(state.pending.reason, (pending.get(state.pending.reason) ?? 0) + 1);
      if (state.inProgress !== undefined) inProgress++;
    }
    return { pending, inProgress };
  }

  podEnded(uid: PodUid): void {
    this.#pending.delete(uid);
    this.#states.set(uid, {});
    this.retry('pod_terminated');
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Adds containers that are missing in the record, with the resources of the spec. */
  #adoptNewContainers(uid: PodUid, pod: Pod, allocation: PodAllocation): void {
    const asked = allocationOf(pod);
    const unknown = Object.keys(asked.containers).filter((name) => !Object.hasOwn(allocation.containers, name));
    if (unknown.length > 0)
      this.#options.allocated.set(uid, {
        ...allocation,
        containers: { ...asked.containers, ...allocation.containers },
      });
  }

  #ranked(): PodUid[] {
    const pods = new Map(this.#options.pods().map((pod) => [podUid(pod.metadata.uid), pod]));
    const pending = [...this.#pending].flatMap((uid) => {
      const desired = pods.get(uid);
      if (desired === undefined || this.#options.isOver(uid)) {
        this.#pending.delete(uid);
        return [];
      }
      return [{ desired, allocated: this.apply(desired), sinceMs: this.#state(uid).pending?.sinceMs }];
    });
    return rankPending(pending).map(({ desired }) => podUid(desired.metadata.uid));
  }

  /** Tries the resize, and returns whether it was allocated. */
  #try(uid: PodUid, trigger: RetryTrigger): boolean {
    const { allocated, clock, node, misfit, recorder, observe } = this.#options;
    const pods = this.#options.pods();
    const desired = pods.find((pod) => pod.metadata.uid === uid);
    if (desired === undefined) return false;
    const current = this.apply(desired);
    if (current === desired) {
      this.#settle(uid, withoutPending(this.#state(uid)));
      return false;
    }
    const others = pods
      .filter(
        (pod) => pod.metadata.uid !== uid && !isTerminalPod(pod) && !this.#options.isOver(podUid(pod.metadata.uid)),
      )
      .map((pod) => this.apply(pod));
    const decision = decideResize({ desired, allocated: current, node: node(), misfit: (pod) => misfit(pod, others) });
    const generation = generationOf(desired);
    if (decision.kind === 'allocated') {
      if (this.#state(uid).pending?.reason === 'Deferred') observe?.deferredAccepted(trigger);
      allocated.set(uid, allocationOf(desired));
      this.#save(uid);
      const { state } = withProgress({}, { reason: '', message: '', generation }, clock.nowMs());
      this.#settle(uid, state);
      recorder.event(desired, 'Normal', podEvents.resizeStarted, resizeMessage('started', desired, { generation }));
      this.#options.onAllocated(uid);
      return true;
    }
    if (decision.kind === 'infeasible' && decision.cause !== undefined) observe?.infeasible(decision.cause);
    const reason = decision.kind === 'infeasible' ? 'Infeasible' : 'Deferred';
    const { state, news } = withPending(
      this.#state(uid),
      { reason, message: decision.message, generation },
      clock.nowMs(),
    );
    if (reason === 'Infeasible') this.#pending.delete(uid);
    this.#change(uid, state);
    if (!news) return false;
    const event = reason === 'Infeasible' ? podEvents.resizeInfeasible : podEvents.resizeDeferred;
    recorder.event(
      desired,
      'Warning',
      event,
      resizeMessage(decision.reason, desired, { generation, error: decision.message }),
    );
    return false;
  }

  #save(uid: PodUid): void {
    const saving: Promise<void> = this.#options.allocated.flush().then(() => {
      if (this.#saving.get(uid) === saving) this.#saving.delete(uid);
    });
    this.#saving.set(uid, saving);
  }

  #settle(uid: PodUid, state: ResizeState): void {
    this.#pending.delete(uid);
    this.#change(uid, state);
  }

  #state(uid: PodUid): ResizeState {
    let state = this.#states.get(uid);
    if (state === undefined) {
      state = stateOfConditions(this.#options.publishedConditions(uid));
      this.#states.set(uid, state);
    }
    return state;
  }

  #change(uid: PodUid, state: ResizeState): void {
    const before = resizeConditions(this.#state(uid));
    this.#states.set(uid, state);
    if (JSON.stringify(before) !== JSON.stringify(resizeConditions(state))) this.#options.onChange(uid);
  }

  #retryWithin(waitMs: number): void {
    this.#timer = this.#options.clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.retry();
    });
  }
}

function generationOf(pod: Pod): number {
  return pod.metadata.generation ?? 0;
}
