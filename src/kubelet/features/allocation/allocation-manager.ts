import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import { isTerminalPhase } from '../../../api/pod.ts';
import { allocationOf, withAllocation } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { podEvents } from '../../../api/reasons.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
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
  allocated: ResourceCheckpoint;
  /** What is known to have been brought about, to find lost grants again. */
  actuated: Pick<ResourceCheckpoint, 'get' | 'remove' | 'retain'>;
  clock: Clock;
  recorder: EventRecorder;
  node: () => ResizeNode;
  /** The pods of the node as their sources want them. */
  pods: () => readonly Pod[];
  /** Whether the pod is over, or is being stopped for good. */
  isOver: (uid: PodUid) => boolean;
  /** Whether the pod fits beside the others, all with what they were granted. */
  misfit: (pod: Pod, others: readonly Pod[]) => { reason: string; message: string } | undefined;
  /** No resize is granted before all pods of the node are known. */
  sourcesReady: () => boolean;
  /** What runs of a pod; undefined while nobody knows. */
  runtime: (uid: PodUid) => PodRuntimeStatus | undefined;
  /** What was told of the pod before, by this run of the agent or an earlier one. */
  toldConditions: (uid: PodUid) => readonly PodCondition[];
  /** What is told of the pod's resize changed. */
  onChange: (uid: PodUid) => void;
  /** The pod was granted other resources than it has: give it those. */
  onGranted: (uid: PodUid) => void;
  observe?: ResizeObserver;
}

/** Why wishes were looked at again (upstream: allocation_manager.go TriggerReason*). */
export type RetryTrigger =
  | 'pods_added'
  | 'pod_updated'
  | 'pods_removed'
  | 'pod_terminated'
  | 'pod_resized'
  | 'periodic_retry';

export interface ResizeObserver {
  /** A wish that had to wait was granted. */
  deferredAccepted(trigger: RetryTrigger): void;
  /** A wish cannot be granted, ever. */
  infeasible(cause: InfeasibleCause): void;
}

/** Upstream's retries; here they are the safety net behind the events. */
const FIRST_RETRY_MS = 30_000;
const RETRY_MS = 180_000;

/**
 * Which resources each pod was granted, and what becomes of wishes for others (upstream: allocation_manager.go).
 * 1. A pod runs with what it was granted (`apply`), not with what its source wants.
 * 2. A new pod is granted what it asks for; one whose grant is on record keeps it, also across a restart of the agent.
 * 3. A grant is on the disk before a running pod is changed for it (`saved`): the next agent must not undo what this one began.
 * 4. A wish that differs is granted, deferred or infeasible. Deferred ones are tried again when a pod comes, goes, ends or shrinks.
 */
export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  readonly #states = new Map<PodUid, ResizeState>();
  readonly #pending = new Set<PodUid>();
  readonly #applied = new WeakMap<Pod, { granted: PodAllocation; pod: Pod }>();
  readonly #saving = new Map<PodUid, Promise<void>>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: AllocationManagerOptions) {
    this.#options = options;
  }

  /** The pod with the resources it was granted. */
  apply(pod: Pod): Pod {
    const granted = this.#options.allocated.get(podUid(pod.metadata.uid));
    if (granted === undefined) return pod;
    // Asked for every pod at every change of any; neither the pod nor a grant is ever changed in place.
    const known = this.#applied.get(pod);
    if (known?.granted === granted) return known.pod;
    const applied = withAllocation(pod, granted);
    this.#applied.set(pod, { granted, pod: applied });
    return applied;
  }

  /** Resolves when what was granted to a running pod last is on the disk, or cannot be put there; undefined when it long is. */
  saved(uid: PodUid): Promise<void> | undefined {
    return this.#saving.get(uid);
  }

  /** A pod was taken in. What its record says stands; without one it is granted what it asks for, or what it is found running with. */
  podAdded(pod: Pod): void {
    const { allocated, actuated, runtime } = this.#options;
    const uid = podUid(pod.metadata.uid);
    if (allocated.get(uid) === undefined) allocated.set(uid, rebuildAllocation(pod, runtime(uid), actuated.get(uid)));
    if (this.apply(pod) !== pod) this.#pending.add(uid);
    this.retry('pods_added');
  }

  /** Its source wants the pod otherwise than before. */
  podUpdated(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    const { allocated } = this.#options;
    const granted = allocated.get(uid);
    if (granted !== undefined) this.#adoptNewContainers(uid, pod, granted);
    if (this.apply(pod) === pod) {
      // A wish that was taken back.
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

  /** Nothing of the pod is left. */
  forget(uid: PodUid): void {
    const { allocated, actuated } = this.#options;
    this.#pending.delete(uid);
    this.#states.delete(uid);
    allocated.remove(uid);
    actuated.remove(uid);
  }

  /** Drops records of pods that nobody knows. */
  retain(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    this.#options.allocated.retain(known);
    this.#options.actuated.retain(known);
  }

  /** Tries every pending wish again; until none is granted any more, for what one gives up another may have. */
  retry(trigger: RetryTrigger = 'periodic_retry'): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#pending.size === 0 || this.#stopped) return;
    if (!this.#options.sourcesReady()) return this.#retryWithin(FIRST_RETRY_MS);
    let granted = true;
    while (granted && this.#pending.size > 0) {
      granted = false;
      for (const uid of this.#ranked()) if (this.#try(uid, trigger)) granted = true;
    }
    if (this.#pending.size > 0) this.#retryWithin(RETRY_MS);
  }

  /** Whether what was granted is not yet what runs; from the pass over the pod, which alone can tell. */
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

  /** For the pod's status; none once the pod is over. */
  conditions(uid: PodUid): PodCondition[] {
    return resizeConditions(this.#state(uid));
  }

  /** How many pods wait for other resources, by the reason that is told, and how many are being given theirs. */
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

  /** The name of a container that the record does not know: its resources are as the spec has them. */
  #adoptNewContainers(uid: PodUid, pod: Pod, granted: PodAllocation): void {
    const asked = allocationOf(pod);
    const unknown = Object.keys(asked.containers).filter((name) => granted.containers[name] === undefined);
    if (unknown.length > 0)
      this.#options.allocated.set(uid, { ...granted, containers: { ...asked.containers, ...granted.containers } });
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

  /** Whether it was granted. */
  #try(uid: PodUid, trigger: RetryTrigger): boolean {
    const { allocated, clock, node, misfit, recorder, observe } = this.#options;
    const pods = this.#options.pods();
    const desired = pods.find((pod) => pod.metadata.uid === uid);
    if (desired === undefined) return false;
    const granted = this.apply(desired);
    if (granted === desired) {
      this.#settle(uid, withoutPending(this.#state(uid)));
      return false;
    }
    const others = pods
      .filter(
        (pod) => pod.metadata.uid !== uid && !isTerminalPhase(pod) && !this.#options.isOver(podUid(pod.metadata.uid)),
      )
      .map((pod) => this.apply(pod));
    const decision = decideResize({ desired, allocated: granted, node: node(), misfit: (pod) => misfit(pod, others) });
    const generation = generationOf(desired);
    if (decision.kind === 'granted') {
      if (this.#state(uid).pending?.reason === 'Deferred') observe?.deferredAccepted(trigger);
      allocated.set(uid, allocationOf(desired));
      this.#save(uid);
      const { state } = withProgress({}, { reason: '', message: '', generation }, clock.nowMs());
      this.#settle(uid, state);
      recorder.event(desired, 'Normal', podEvents.resizeStarted, resizeMessage('started', desired, { generation }));
      this.#options.onGranted(uid);
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
      state = stateOfConditions(this.#options.toldConditions(uid));
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
