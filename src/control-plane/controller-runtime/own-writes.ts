/**
 * Knows when the cache is behind what its reader itself has written: reading one's own past would do things twice.
 * A successful conditional write excludes other writes in between; so a cache that still shows one of
 * those has not caught up, and any other version has.
 */
export class OwnWrites {
  readonly #replaced = new Map<string, Set<string>>();

  /** An object of `key` was written over its version `resourceVersion`. */
  wroteOver(key: string, resourceVersion: string | undefined): void {
    if (resourceVersion === undefined) return;
    const known = this.#replaced.get(key);
    if (known === undefined) this.#replaced.set(key, new Set([resourceVersion]));
    else known.add(resourceVersion);
  }

  /**
   * Whether the cache, showing this version, has yet to catch up. Once it has, what is known of the key is forgotten.
   */
  isBehind(key: string, resourceVersion: string | undefined): boolean {
    const replaced = this.#replaced.get(key);
    if (replaced === undefined) return false;
    if (resourceVersion !== undefined && replaced.has(resourceVersion)) return true;
    this.#replaced.delete(key);
    return false;
  }

  forget(key: string): void {
    this.#replaced.delete(key);
  }
}
