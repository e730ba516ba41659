import type { Storage, StorageEvent, StorageWatch, StorageWatchEnd } from '../storage.ts';

/** A watch that records what it receives. */
export class WatchLog {
  readonly events: StorageEvent[] = [];
  readonly calls: (readonly StorageEvent[])[] = [];
  revision: number;
  ended: StorageWatchEnd | undefined;
  readonly #watch: StorageWatch;
  readonly #waiting = new Set<() => void>();

  constructor(storage: Storage, prefix: string, after: number) {
    this.revision = after;
    this.#watch = storage.watch(
      prefix,
      after,
      (events, revision) => {
        this.calls.push(events);
        this.events.push(...events);
        this.revision = revision;
        this.#wake();
      },
      (end) => {
        this.ended = end;
        this.#wake();
      },
    );
  }

  close(): void {
    this.#watch.close();
  }

  /** Resolves when `holds` returns true; checked after each call. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  reached(revision: number): Promise<void> {
    return this.until(() => this.revision >= revision);
  }

  /** The events as `put /a=1`, `delete /a`, without revisions, which differ between stores. */
  get words(): string[] {
    return this.events.map(({ type, key, value }) => (type === 'put' ? `put ${key}=${value}` : `delete ${key}`));
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
