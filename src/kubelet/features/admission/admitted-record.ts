import type { PodUid } from '../../model/ids.ts';

export interface AdmittedPods {
  admitted: readonly string[];
  preempted: readonly string[];
}

/**
 * Which pods this node has admitted, for a later run of the agent: one that has not begun to run yet is known by nothing else. And which it has
 * stopped to make room: what is left of them in the runtime must not bring them back. A pod is one or the other.
 */
export class AdmittedRecord {
  readonly #uids: Set<string>;
  readonly #preempted: Set<string>;
  readonly #listeners = new Set<() => void>();

  constructor(saved: AdmittedPods = { admitted: [], preempted: [] }) {
    this.#uids = new Set(saved.admitted);
    this.#preempted = new Set(saved.preempted);
  }

  has(uid: PodUid): boolean {
    return this.#uids.has(uid);
  }

  isPreempted(uid: PodUid): boolean {
    return this.#preempted.has(uid);
  }

  add(uid: PodUid): void {
    if (this.#uids.has(uid)) return;
    this.#uids.add(uid);
    this.#changed();
  }

  preempt(uid: PodUid): void {
    this.#uids.delete(uid);
    this.#preempted.add(uid);
    this.#changed();
  }

  forget(uid: PodUid): void {
    const isNews = this.#uids.delete(uid);
    if (this.#preempted.delete(uid) || isNews) this.#changed();
  }

  /** To be called when every source has spoken. */
  forgetUnknown(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#uids, ...this.#preempted]) if (!known.has(uid as PodUid)) this.forget(uid as PodUid);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  snapshot(): AdmittedPods {
    return { admitted: [...this.#uids].sort(), preempted: [...this.#preempted].sort() };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
