import type { Clock, Timer } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';

/** Stores when pods must be synced. It has one entry per pod, and one timer for the earliest entry. */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onDue: (uids: readonly PodUid[]) => void;
  readonly #dueAtMs = new Map<PodUid, number>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;

  constructor(clock: Clock, onDue: (uids: readonly PodUid[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Plans a sync of the pod. It replaces an earlier plan. */
  schedule(uid: PodUid, delayMs: number): void {
    const atMs = this.#clock.monotonicMs() + Math.max(0, delayMs);
    this.#dueAtMs.set(uid, atMs);
    if (atMs < this.#timerAtMs) this.#arm(atMs);
  }

  /** Returns the milliseconds until the pod is due, or undefined if no time is planned. */
  delayOf(uid: PodUid): number | undefined {
    const atMs = this.#dueAtMs.get(uid);
    return atMs === undefined ? undefined : Math.max(0, atMs - this.#clock.monotonicMs());
  }

  forget(uid: PodUid): void {
    this.#dueAtMs.delete(uid);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timerAtMs = Infinity;
    this.#dueAtMs.clear();
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.setTimer(atMs - this.#clock.monotonicMs(), () => this.#fire());
  }

  #fire(): void {
    this.#timerAtMs = Infinity;
    const nowMs = this.#clock.monotonicMs();
    const due: PodUid[] = [];
    let nextMs = Infinity;
    for (const [uid, atMs] of this.#dueAtMs) {
      if (atMs <= nowMs) due.push(uid);
      else nextMs = Math.min(nextMs, atMs);
    }
    for (const uid of due) this.#dueAtMs.delete(uid);
    if (nextMs !== Infinity) this.#arm(nextMs);
    if (due.length > 0) this.#onDue(due);
  }
}
