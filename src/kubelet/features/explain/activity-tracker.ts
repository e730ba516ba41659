import type { Clock } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';

/** Slow work that is in progress for a pod. */
export interface Activity {
  readonly step: string;
  readonly cause: string;
  readonly sinceMs: number;
}

/** Tracks slow work for pods while it is in progress, and `explain` shows it. The cost is two map operations. */
export class ActivityTracker {
  readonly #clock: Clock;
  readonly #running = new Map<PodUid, Set<Activity>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Registers an activity. Returns the function that ends it; a second call of that does nothing. */
  begin(uid: PodUid, step: string, cause: string): () => void {
    const activity: Activity = { step, cause, sinceMs: this.#clock.nowMs() };
    const running = this.#running.get(uid) ?? new Set();
    this.#running.set(uid, running.add(activity));
    return () => {
      running.delete(activity);
      if (running.size === 0 && this.#running.get(uid) === running) this.#running.delete(uid);
    };
  }

  /** Runs `work`, and registers it as an activity of the pod meanwhile. */
  async during<T>(uid: PodUid, activity: { step: string; cause: string }, work: () => Promise<T>): Promise<T> {
    const end = this.begin(uid, activity.step, activity.cause);
    try {
      return await work();
    } finally {
      end();
    }
  }

  of(uid: PodUid): readonly Activity[] {
    return [...(this.#running.get(uid) ?? [])];
  }
}
