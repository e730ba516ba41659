import type { PodUid } from '../../model/ids.ts';

export interface AdmittedPods {
  readonly admitted: readonly string[];
  readonly preempted: readonly string[];
}

/**
 * Persists which pods this node has admitted: a later run of the agent has no other record of those that have not
 * started yet. It also persists the preempted ones: what is left of them in the runtime must not restart them. A pod is
 * one or the other.
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

  /** To be called when all sources have reported. */
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

/** Whether a file of an earlier run holds such a record. */
export function isAdmittedPods(value: unknown): value is AdmittedPods {
  if (typeof value !== 'object' || value === null) return false;
  const { admitted, preempted } = value as Partial<Record<keyof AdmittedPods, unknown>>;
  return isUids(admitted) && isUids(preempted);
}

const isUids = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((uid) => typeof uid === 'string');
