import { isRecord } from '../../../base/json-record.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import type { PodUid } from '../../model/ids.ts';

/** The reason of an eviction, as the pod's status shows it. */
export interface EvictionVerdict {
  readonly reason: string;
  readonly message: string;
  /** The condition. It is absent for a pod that exceeded its own limit, which is not a disruption by the node. */
  readonly condition?: PodCondition;
}

/** The maximum number of recorded pods. */
const MOST_SAVED = 10_000;

/**
 * Persists which pods this node evicted. A later run of the agent must not restart what is left of them in the runtime,
 * and their status must not change when the agent restarts while they are being stopped.
 */
export class EvictedRecord {
  readonly #verdicts: Map<PodUid, EvictionVerdict>;
  readonly #listeners = new Set<() => void>();

  constructor(saved: Readonly<Record<string, EvictionVerdict>> = {}) {
    this.#verdicts = new Map(Object.entries(saved) as [PodUid, EvictionVerdict][]);
  }

  get(uid: PodUid): EvictionVerdict | undefined {
    return this.#verdicts.get(uid);
  }

  has(uid: PodUid): boolean {
    return this.#verdicts.has(uid);
  }

  /** Records an eviction. If the pod is already recorded, the first reason is kept. */
  add(uid: PodUid, verdict: EvictionVerdict): void {
    if (this.#verdicts.has(uid)) return;
    this.#verdicts.set(uid, verdict);
    this.#changed();
  }

  forget(uid: PodUid): void {
    if (this.#verdicts.delete(uid)) this.#changed();
  }

  /** Drops unknown pods. It must be called when all sources have reported. */
  forgetUnknown(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of this.#verdicts.keys()) if (!known.has(uid)) this.forget(uid);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  snapshot(): Readonly<Record<string, EvictionVerdict>> {
    return Object.fromEntries([...this.#verdicts].slice(-MOST_SAVED));
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Whether a file of an earlier run holds such a record. */
export function isEvictedPods(value: unknown): value is Record<string, EvictionVerdict> {
  return isRecord(value) && Object.values(value).every(isVerdict);
}

function isVerdict(value: unknown): value is EvictionVerdict {
  if (typeof value !== 'object' || value === null) return false;
  const { reason, message, condition } = value as Partial<Record<keyof EvictionVerdict, unknown>>;
  const isCondition = condition === undefined || (typeof condition === 'object' && condition !== null);
  return typeof reason === 'string' && typeof message === 'string' && isCondition;
}
