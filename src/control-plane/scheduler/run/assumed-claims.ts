import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';

interface Entry {
  object: ResourceClaim;
  /** The number of running binds that depend on the claim. */
  pending: number;
  /** The resource versions that were overwritten. A cache that shows one of them is outdated. */
  readonly replaced: Set<string>;
  /** Whether the claim is being created and the cache does not show it yet. */
  isNew: boolean;
}

/**
 * The decided state of resource claims. Each needs several writes, and the decision counts until the cache shows the
 * last one. Otherwise a device would look free after the first write.
 */
export class AssumedClaims {
  readonly #entries = new Map<string, Entry>();

  /** Records the decided state. A claim that is being created has its name already, and no UID. */
  assume(object: ResourceClaim): void {
    const key = formatKey(keyOf(object));
    const known = this.#entries.get(key);
    if (known?.object.metadata.uid === object.metadata.uid) {
      known.object = object;
      known.pending++;
    } else this.#entries.set(key, { object, pending: 1, replaced: new Set(), isNew: object.metadata.uid === '' });
  }

  /** Records that the version `resourceVersion` of the claim was overwritten. */
  wroteOver({ metadata }: ResourceClaim): void {
    const { resourceVersion } = metadata;
    if (resourceVersion !== undefined) this.#entries.get(formatKey(keyOf({ metadata })))?.replaced.add(resourceVersion);
  }

  /** Records the end of a bind that depended on the claim. If the writes failed, the decision no longer counts. */
  settle(object: ResourceClaim, result: 'written' | 'failed'): void {
    const key = formatKey(keyOf(object));
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.pending--;
    if (entry.pending <= 0 && result === 'failed') this.#entries.delete(key);
  }

  /** Yields the decisions that the cache does not show, each with the cached claim. */
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
