/**
 * Detects that the cache does not show the reader's own writes yet; acting on the old state would repeat work. A
 * successful conditional write excludes other writes in between. So a cache that still shows one of the overwritten
 * versions has not caught up, and any other version has.
 */
export class OwnWrites {
  readonly #replaced = new Map<string, Set<string>>();

  /** An object of `key` was written, replacing its version `resourceVersion`. */
  wroteOver(key: string, resourceVersion: string | undefined): void {
    if (resourceVersion === undefined) return;
    const known = this.#replaced.get(key);
    if (known === undefined) this.#replaced.set(key, new Set([resourceVersion]));
    else known.add(resourceVersion);
  }

  /** Whether a cache that shows this version has not caught up yet. Once it has, the record of the key is dropped. */
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
