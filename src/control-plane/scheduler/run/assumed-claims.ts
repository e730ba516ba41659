import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';

interface Entry {
  object: ResourceClaim;
  /** Binds under way that rely on it. */
  pending: number;
  /** Versions that were written over: a cache that shows one of them is behind. */
  readonly replaced: Set<string>;
  /** It is being created, and the cache did not show it yet. */
  isNew: boolean;
}

/**
 * Resource claims as they were decided, which takes several writes each: until all are done, and until the cache shows
 * the last one, the decision holds. Otherwise a device would look free after the first write.
 */
export class AssumedClaims {
  readonly #entries = new Map<string, Entry>();

  /** A claim that is created has its name already, and no uid. */
  assume(object: ResourceClaim): void {
    const key = formatKey(keyOf(object));
    const known = this.#entries.get(key);
    if (known?.object.metadata.uid === object.metadata.uid) {
      known.object = object;
      known.pending++;
    } else this.#entries.set(key, { object, pending: 1, replaced: new Set(), isNew: object.metadata.uid === '' });
  }

  /** The claim was written over its version `resourceVersion`. */
  wroteOver({ metadata }: ResourceClaim): void {
    const { resourceVersion } = metadata;
    if (resourceVersion !== undefined) this.#entries.get(formatKey(keyOf({ metadata })))?.replaced.add(resourceVersion);
  }

  /** A bind that relied on it is over. What was not written does not hold. */
  settle(object: ResourceClaim, result: 'written' | 'failed'): void {
    const key = formatKey(keyOf(object));
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.pending--;
    if (entry.pending <= 0 && result === 'failed') this.#entries.delete(key);
  }

  /** Decisions that the cache does not show, with what it shows. */
  *changes(actualOf: (key: ObjectKey) => ResourceClaim | undefined): Iterable<{
    readonly actual: ResourceClaim | undefined;
    readonly assumed: ResourceClaim;
  }> {
    for (const [key, { object, pending, isNew }] of this.#entries) {
      const actual = actualOf(keyOf(object));
      if (actual === undefined) {
        if (isNew) yield { actual, assumed: object };
        else if (pending <= 0) this.#entries.delete(key);
        continue;
      }
      const assumed = this.over(actual);
      if (assumed !== undefined && assumed !== actual) yield { actual, assumed };
    }
  }

  over(actual: ResourceClaim | undefined): ResourceClaim | undefined {
    if (actual === undefined || this.#entries.size === 0) return actual;
    const key = formatKey(keyOf(actual));
    const entry = this.#entries.get(key);
    if (entry === undefined) return actual;
    const isSame = entry.isNew || entry.object.metadata.uid === actual.metadata.uid;
    if (entry.isNew) {
      entry.isNew = false;
      entry.object = { ...entry.object, metadata: { ...entry.object.metadata, uid: actual.metadata.uid } };
    }
    if (isSame && (entry.pending > 0 || entry.replaced.has(actual.metadata.resourceVersion ?? ''))) return entry.object;
    if (entry.pending <= 0 || !isSame) this.#entries.delete(key);
    return actual;
  }
}
