import type { ListedGroup } from './cadvisor-families.ts';

interface Kept {
  readonly group: ListedGroup;
  readonly atMs: number;
}

/** Stores what was last read of each group for /metrics/cadvisor. */
export class ListedGroups {
  readonly #monotonicMs: () => number;
  readonly #kept = new Map<string, Kept>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Returns a group; undefined if it was not read within `maxAgeMs`. */
  get(path: string, maxAgeMs: number): ListedGroup | undefined {
    const kept = this.#kept.get(path);
    return kept !== undefined && this.#monotonicMs() - kept.atMs < maxAgeMs ? kept.group : undefined;
  }

  keep(path: string, group: ListedGroup): void {
    this.#kept.set(path, { group, atMs: this.#monotonicMs() });
  }

  /** Drops all other groups. */
  retain(paths: Pick<ReadonlySet<string>, 'has'>): void {
    for (const path of this.#kept.keys()) if (!paths.has(path)) this.#kept.delete(path);
  }

  clear(): void {
    this.#kept.clear();
  }
}
