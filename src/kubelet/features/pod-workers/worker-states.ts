import type { PodUid } from '../../model/ids.ts';
import type { WorkerState } from './worker-state.ts';

/**
 * The worker state of each pod on this node. Only PodWorkers writes here. It is a separate part because features that
 * the workers need also read it, so it must exist before the workers do.
 */
export class WorkerStates {
  readonly #states = new Map<PodUid, WorkerState>();
  readonly #listeners = new Set<(uid: PodUid) => void>();

  get(uid: PodUid): WorkerState | undefined {
    return this.#states.get(uid);
  }

  /** Returns a snapshot of the states. */
  known(): ReadonlyMap<PodUid, WorkerState> {
    return new Map(this.#states);
  }

  /** Whether nothing of the pod runs and its volumes are unmounted, or it never had a worker. */
  hasFinished(uid: PodUid): boolean {
    const phase = this.#states.get(uid)?.phase;
    return phase === undefined || phase === 'finished';
  }

  /** Calls `listener` after each change; returns the function that unsubscribes. */
  onChange(listener: (uid: PodUid) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  set(uid: PodUid, state: WorkerState): void {
    this.#states.set(uid, state);
    this.#notify(uid);
  }

  delete(uid: PodUid): void {
    this.#states.delete(uid);
    this.#notify(uid);
  }

  #notify(uid: PodUid): void {
    for (const listener of this.#listeners) listener(uid);
  }
}
