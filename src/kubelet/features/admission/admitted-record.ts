import type { PodUid } from '../../model/ids.ts';

export interface AdmittedPods {
  readonly admitted: readonly string[];
  readonly preempted: readonly string[];
}

/**
 * Records on disk which pods this node has admitted. A later run of the agent has no other record of pods that have not
 * started yet. It also records the preempted pods, so that a later agent does not restart what is left of them in the
 * runtime. A pod is either admitted or preempted.
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

  /** Drops unknown pods. It must be called only when all sources have reported. */
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

/** Whether the content of a file is such a record. */
export function isAdmittedPods(value: unknown): value is AdmittedPods {
  if (typeof value !== 'object' || value === null) return false;
  const { admitted, preempted } = value as Partial<Record<keyof AdmittedPods, unknown>>;
  return isUids(admitted) && isUids(preempted);
}

const isUids = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((uid) => typeof uid === 'string');
