import type { Clock, Timer } from '../../../base/clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { hasHintFor, mayHelp, podActions } from '../framework/cluster-event.ts';
import type { ClusterEvent } from '../framework/cluster-event.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import type { Rejection } from '../framework/rejection.ts';
import { KeyedHeap } from './keyed-heap.ts';
import { backoffOverAt, computeBackoffUntil, goesBefore, isBackingOff } from './queued-pod.ts';
import type { BackoffLimits, PodOrder, QueuedPod } from './queued-pod.ts';

/** Pods that no event has helped for this long are retried, in case a hint was wrong. */
export const LEFTOVER_MS = 5 * 60_000;

export interface SchedulingQueueOptions extends BackoffLimits {
  readonly clock: Clock;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Returns why the pod must wait although no plugin gates it: its preemption is still in progress. */
  readonly heldBack: (pod: Pod) => Rejection | undefined;
  /** The queue order. The default is `goesBefore`. */
  readonly goesBefore?: PodOrder;
  /** Called when a pod can be taken. */
  readonly onReady: () => void;
}

/** An event that arrived during a decision. */
export interface MissedEvent {
  readonly event: ClusterEvent;
  readonly only?: (pod: Pod) => boolean;
}

/**
 * The limit of remembered events per decision. A pod that missed more events is retried after five minutes at the
 * latest.
 */
const MOST_MISSED = 10_000;

type Place = 'active' | 'backoff' | 'errorBackoff' | 'unschedulable' | 'gated';

interface Gated {
  readonly queued: QueuedPod;
  readonly by: Rejection;
}

/**
 * The pods that wait for a node. Invariants:
 * 1. A pod is in at most one place: active (to be taken), backoff (soon), unschedulable (until an event may help),
 *    gated (not admitted yet), or taken.
 * 2. Taking a pod, deciding and putting it back happen in one synchronous turn, so no event can be lost. A decision
 *    that takes longer, because it calls extenders, is announced with `takeOff`. The events that arrive meanwhile are
 *    offered to the pod when it is put back. Events during a bind do not concern the queue: a failed bind puts the pod
 *    into back-off.
 * 3. If no pod is active, rejected pods are taken before their back-off ends. The back-off only lets other pods go
 *    first (upstream: SchedulerPopFromBackoffQ).
 */
export class SchedulingQueue {
  readonly #options: SchedulingQueueOptions;
  readonly #active: KeyedHeap<QueuedPod>;
  readonly #backoff: KeyedHeap<QueuedPod>;
  readonly #errorBackoff: KeyedHeap<QueuedPod>;
  readonly #unschedulable = new Map<string, QueuedPod>();
  readonly #gated = new Map<string, Gated>();
  /**
   * The unschedulable and gated pods: rejecting plugin → UIDs. An event is offered only to the pods of plugins that
   * have a hint for it.
   */
  readonly #keptBy = new Map<string, Set<string>>();
  /** The pod whose decision takes longer than one turn, and the events since. */
  #flight: { readonly uid: string; readonly missed: MissedEvent[] } | undefined;
  #backoffTimer: Timer | undefined;
  #leftoverTimer: Timer | undefined;

  constructor(options: SchedulingQueueOptions) {
    const order = options.goesBefore ?? goesBefore;
    this.#options = options;
    this.#active = new KeyedHeap(uidOf, order);
    this.#backoff = new KeyedHeap(uidOf, backsOffLess(order));
    this.#errorBackoff = new KeyedHeap(uidOf, backsOffLess(order));
  }

  get counts(): Readonly<Record<Exclude<Place, 'errorBackoff'>, number>> {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size + this.#errorBackoff.size,
      unschedulable: this.#unschedulable.size,
      gated: this.#gated.size,
    };
  }

  /** Returns why the pod is gated, if it is. Used by explanations. */
  gatedBy(uid: string): Rejection | undefined {
    return this.#gated.get(uid)?.by;
  }

  find(uid: string): QueuedPod | undefined {
    return (
      this.#active.get(uid) ??
      this.#backoff.get(uid) ??
      this.#errorBackoff.get(uid) ??
      this.#unschedulable.get(uid) ??
      this.#gated.get(uid)?.queued
    );
  }

  /** Adds a new pod. */
  add(pod: Pod): void {
    const nowMs = this.#nowMs();
    this.#activate({
      info: podInfoOf(pod),
      queuedAtMs: nowMs,
      attempts: 0,
      rejections: 0,
      errors: 0,
      rejectors: new Set(),
      backoffUntilMs: -Infinity,
    });
  }

  /** Stores a new version of a pod. The change itself may be an event that the pod waits for. */
  update(before: Pod, after: Pod): void {
    const { uid } = after.metadata;
    if (this.#flight?.uid === uid)
      return this.#miss({ event: { resource: 'Pod', actions: podActions(before, after), before, after } });
    const info = podInfoOf(after);
    for (const heap of [this.#active, this.#backoff, this.#errorBackoff]) {
      const queued = heap.get(uid);
      if (queued !== undefined) return heap.put({ ...queued, info });
    }
    const waiting = this.#unschedulable.get(uid) ?? this.#gated.get(uid)?.queued;
    if (waiting === undefined) return this.add(after);
    const queued = { ...waiting, info };
    const gate = this.#gated.get(uid);
    if (gate === undefined) this.#sleep(queued);
    else this.#shut(queued, gate.by);
    this.#offer(queued, { resource: 'Pod', actions: podActions(before, after), before, after });
  }

  delete(uid: string): void {
    this.#remove(uid);
  }

  /** Takes the next pod. The caller must put it back or bind it. */
  pop(): QueuedPod | undefined {
    const queued = this.#active.pop() ?? this.#backoff.pop();
    return queued === undefined ? undefined : { ...queued, attempts: queued.attempts + 1 };
  }

  /** Marks the taken pod as one whose decision takes longer than this turn. There is at most one. */
  takeOff(uid: string): void {
    this.#flight = { uid, missed: [] };
  }

  /** Ends the mark and returns the events since `takeOff`, for `putBackRejected`. */
  land(): readonly MissedEvent[] {
    const missed = this.#flight?.missed ?? [];
    this.#flight = undefined;
    return missed;
  }

  /**
   * Puts back a pod that no node fits. It waits for an event that a rejecting plugin has a hint for, unless `missed`
   * contains one.
   */
  putBackRejected(queued: QueuedPod, rejectors: ReadonlySet<string>, missed: readonly MissedEvent[] = []): void {
    // No particular plugin rejected the pod, so any event may help: it only backs off.
    if (rejectors.size === 0) return this.putBackFailed(queued);
    const waiting = this.#withBackoff({
      ...queued,
      queuedAtMs: this.#nowMs(),
      rejections: queued.rejections + 1,
      errors: 0,
      rejectors,
    });
    this.#sleep(waiting);
    for (const { event, only } of missed) {
      if (!this.#unschedulable.has(waiting.info.uid)) return;
      if (only === undefined || only(waiting.info.pod)) this.#offer(waiting, event);
    }
    this.#armLeftover();
  }

  /** Puts back a pod whose attempt failed for a reason outside the pod. It is retried after a back-off. */
  putBackFailed(queued: QueuedPod): void {
    this.#requeue(
      this.#withBackoff({ ...queued, queuedAtMs: this.#nowMs(), errors: queued.errors + 1, rejectors: new Set() }),
    );
  }

  /** Retries the pods that the event may help. `only` limits the pods. */
  wake(event: ClusterEvent, only?: (pod: Pod) => boolean): void {
    this.#miss({ event, ...(only !== undefined && { only }) });
    const candidates = new Set<string>();
    for (const [name, uids] of this.#keptBy) {
      if (this.#caresFor(name, event)) for (const uid of uids) candidates.add(uid);
    }
    for (const uid of candidates) {
      const queued = this.#unschedulable.get(uid) ?? this.#gated.get(uid)?.queued;
      if (queued !== undefined && (only === undefined || only(queued.info.pod))) this.#offer(queued, event);
    }
  }

  /** Retries a waiting pod at once. */
  activate(uid: string): void {
    const queued = this.#unschedulable.get(uid) ?? this.#gated.get(uid)?.queued;
    if (queued !== undefined) this.#activate(queued);
  }

  stop(): void {
    this.#backoffTimer?.cancel();
    this.#leftoverTimer?.cancel();
    this.#backoffTimer = undefined;
    this.#leftoverTimer = undefined;
  }

  #miss(event: MissedEvent): void {
    if (this.#flight !== undefined && this.#flight.missed.length < MOST_MISSED) this.#flight.missed.push(event);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #withBackoff(queued: QueuedPod): QueuedPod {
    return { ...queued, backoffUntilMs: computeBackoffUntil(queued, this.#options) };
  }

  #offer(queued: QueuedPod, event: ClusterEvent): void {
    const gate = this.#gated.get(queued.info.uid);
    const { pod } = queued.info;
    const plugins = this.#options.profiles.get(pod.spec.schedulerName ?? '')?.plugins;
    const hopes = (name: string): boolean => {
      const plugin: Plugin | undefined = plugins?.get(name);
      return plugin?.hints !== undefined && mayHelp(plugin.hints, pod, event);
    };
    const rejectors = gate === undefined ? queued.rejectors : new Set([...queued.rejectors, gate.by.plugin]);
    for (const name of rejectors) {
      if (hopes(name)) return this.#requeue(queued);
    }
  }

  /** Puts the pod into back-off if its back-off has not ended, else into the active queue. */
  #requeue(queued: QueuedPod): void {
    if (!isBackingOff(queued, this.#nowMs())) return this.#activate(queued);
    const gate = this.#gateOf(queued.info.pod);
    this.#remove(queued.info.uid);
    if (gate !== undefined) return this.#shut(queued, gate);
    (queued.rejectors.size === 0 ? this.#errorBackoff : this.#backoff).put(queued);
    this.#armBackoff();
    if (queued.rejectors.size > 0) this.#options.onReady();
  }

  #activate(queued: QueuedPod): void {
    const { uid, pod } = queued.info;
    const gate = this.#gateOf(pod);
    this.#remove(uid);
    if (gate !== undefined) return this.#shut(queued, gate);
    this.#active.put(queued);
    this.#options.onReady();
  }

  #sleep(queued: QueuedPod): void {
    this.#unschedulable.set(queued.info.uid, queued);
    this.#keep(queued.info.uid, queued.rejectors);
  }

  #shut(queued: QueuedPod, by: Rejection): void {
    this.#gated.set(queued.info.uid, { queued, by });
    this.#keep(queued.info.uid, [...queued.rejectors, by.plugin]);
  }

  #keep(uid: string, plugins: Iterable<string>): void {
    for (const name of plugins) {
      const uids = this.#keptBy.get(name);
      if (uids === undefined) this.#keptBy.set(name, new Set([uid]));
      else uids.add(uid);
    }
  }

  #caresFor(name: string, event: ClusterEvent): boolean {
    for (const { plugins } of this.#options.profiles.values())
      if (hasHintFor(plugins.get(name)?.hints ?? {}, event)) return true;
    return false;
  }

  #gateOf(pod: Pod): Rejection | undefined {
    for (const plugin of this.#options.profiles.get(pod.spec.schedulerName ?? '')?.preEnqueue ?? []) {
      const rejection = plugin.preEnqueue?.(pod);
      if (rejection !== undefined) return rejection;
    }
    return this.#options.heldBack(pod);
  }

  #remove(uid: string): void {
    this.#active.delete(uid);
    this.#backoff.delete(uid);
    this.#errorBackoff.delete(uid);
    const gate = this.#gated.get(uid);
    const queued = this.#unschedulable.get(uid) ?? gate?.queued;
    if (queued === undefined) return;
    this.#unschedulable.delete(uid);
    this.#gated.delete(uid);
    for (const name of gate === undefined ? queued.rejectors : [...queued.rejectors, gate.by.plugin])
      this.#keptBy.get(name)?.delete(uid);
  }

  #armBackoff(): void {
    this.#backoffTimer?.cancel();
    const first = Math.min(
      ...[this.#backoff.peek(), this.#errorBackoff.peek()].map((queued) =>
        queued === undefined ? Infinity : backoffOverAt(queued),
      ),
    );
    this.#backoffTimer =
      first === Infinity
        ? undefined
        : this.#options.clock.setTimer(Math.max(0, first - this.#nowMs()), () => this.#endBackoffs());
  }

  #endBackoffs(): void {
    const nowMs = this.#nowMs();
    for (const heap of [this.#backoff, this.#errorBackoff]) {
      for (let first = heap.peek(); first !== undefined && !isBackingOff(first, nowMs); first = heap.peek())
        this.#activate(first);
    }
    this.#armBackoff();
  }

  #armLeftover(): void {
    if (this.#leftoverTimer !== undefined || this.#unschedulable.size === 0) return;
    let oldest = Infinity;
    for (const { queuedAtMs } of this.#unschedulable.values()) oldest = Math.min(oldest, queuedAtMs);
    this.#leftoverTimer = this.#options.clock.setTimer(Math.max(0, oldest + LEFTOVER_MS - this.#nowMs()), () =>
      this.#flushLeftovers(),
    );
  }

  #flushLeftovers(): void {
    this.#leftoverTimer = undefined;
    const nowMs = this.#nowMs();
    for (const queued of [...this.#unschedulable.values()])
      if (nowMs - queued.queuedAtMs >= LEFTOVER_MS) this.#requeue(queued);
    this.#armLeftover();
  }
}

function uidOf({ info }: QueuedPod): string {
  return info.uid;
}

const backsOffLess =
  (order: PodOrder): PodOrder =>
  (left, right) =>
    left.backoffUntilMs < right.backoffUntilMs || (left.backoffUntilMs === right.backoffUntilMs && order(left, right));
