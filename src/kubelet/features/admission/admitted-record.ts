import type { PodUid } from '../../model/ids.ts';

/** Which pods this node has admitted, for a later run of the agent: one that has not begun to run yet is known by nothing else. */
export class AdmittedRecord {
  readonly #uids: Set<string>;
  readonly #listeners = new Set<() => void>();

  constructor(saved: readonly string[] = []) {
    this.#uids = new Set(saved);
  }

  has(uid: PodUid): boolean {
    return this.#uids.has(uid);
  }

  add(uid: PodUid): void {
    if (this.#uids.has(uid)) return;
    this.#uids.add(uid);
    this.#changed();
  }

  forget(uid: PodUid): void {
    if (this.#uids.delete(uid)) this.#changed();
  }

  /** To be called when every source has spoken. */
  forgetUnknown(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#uids]) if (!known.has(uid as PodUid)) this.forget(uid as PodUid);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  snapshot(): string[] {
    return [...this.#uids].sort();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
