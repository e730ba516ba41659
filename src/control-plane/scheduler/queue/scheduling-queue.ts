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

/** Pods that no event has helped for so long are tried again, lest a hint was wrong. */
export const LEFTOVER_MS = 5 * 60_000;

export interface SchedulingQueueOptions extends BackoffLimits {
  readonly clock: Clock;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Keeps a pod out for a reason that is no plugin's: its preemption is still being carried out. */
  readonly heldBack: (pod: Pod) => Rejection | undefined;
  /** The order of pods that wait; absent: `goesBefore`. */
  readonly goesBefore?: PodOrder;
  /** There is a pod to take. */
  readonly onReady: () => void;
}

/** An event that came while a decision was being made. */
export interface MissedEvent {
  readonly event: ClusterEvent;
  readonly only?: (pod: Pod) => boolean;
}

/** More is not remembered for one decision; a pod that missed so much is tried again after five minutes at the latest. */
const MOST_MISSED = 10_000;

type Place = 'active' | 'backoff' | 'errorBackoff' | 'unschedulable' | 'gated';

interface Gated {
  readonly queued: QueuedPod;
  readonly by: Rejection;
}

/**
 * Pods that want a node. Invariants:
 * 1. A pod is in one place at most: active (to be taken), backoff (soon), unschedulable (until an event may help),
 *    gated (not wanted yet), or taken.
 * 2. Taking a pod, deciding and putting it back happen in one synchronous turn: no event can come in between and be
 *    lost. A decision that takes longer, because extenders are asked, is announced (`takeOff`); the events that come
 *    meanwhile are offered to the pod when it is put back. What comes while a pod is being bound does not concern the
 *    queue; a bind that fails puts the pod into back-off, not to sleep.
 * 3. When no pod is active, those that back off after rejections are taken early: back-off is there to let others go
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
   * Of the unschedulable and the gated: plugin → UIDs of those that it keeps. An event is offered only to pods of
   * plugins that care for such events.
   */
  readonly #keptBy = new Map<string, Set<string>>();
  /** The pod whose decision takes longer, and what happened since. */
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

  /** Why a pod is not in line, if it is not: for explaining. */
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

  /** A pod that was not known. */
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

  /** A new version of a pod; where it waits for something, the change may be that. */
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

  /** The next to be decided about; it is the caller's until `putBack` or never. */
  pop(): QueuedPod | undefined {
    const queued = this.#active.pop() ?? this.#backoff.pop();
    return queued === undefined ? undefined : { ...queued, attempts: queued.attempts + 1 };
  }

  /** The decision about a pod that was taken takes longer than this turn. One at a time. */
  takeOff(uid: string): void {
    this.#flight = { uid, missed: [] };
  }

  /** The decision has been made. The events since are for `putBackRejected`. */
  land(): readonly MissedEvent[] {
    const missed = this.#flight?.missed ?? [];
    this.#flight = undefined;
    return missed;
  }

  /** Nowhere a place: waits for an event that one of the plugins that rejected it hopes for, or has come already. */
  putBackRejected(queued: QueuedPod, rejectors: ReadonlySet<string>, missed: readonly MissedEvent[] = []): void {
    // Rejected by no particular plugin: every event may help, so it only backs off.
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

  /** Something went wrong that has nothing to do with the pod: tried again after a back-off. */
  putBackFailed(queued: QueuedPod): void {
    this.#requeue(
      this.#withBackoff({ ...queued, queuedAtMs: this.#nowMs(), errors: queued.errors + 1, rejectors: new Set() }),
    );
  }

  /** Wakes the pods that the event may help. `only` leaves others out. */
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

  /** Tries a pod again that waits, whatever for. */
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

  /** Into back-off while it lasts, else into line. */
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
