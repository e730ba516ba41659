/** Begins a source that pushes, and says how it is stopped. */
export type PushSource<T> = (push: (event: T) => void, end: () => void) => Promise<() => void>;

/**
 * What is pushed, as something to iterate over. The source begins when iteration does; it is stopped when the reader
 * leaves or `signal` aborts. A reader in this process is as fast as the process itself, so what waits is not bounded.
 */
export async function* createPushedEvents<T>(signal: AbortSignal, source: PushSource<T>): AsyncGenerator<T, void> {
  let queue: T[] = [];
  let over = signal.aborted;
  let wake: (() => void) | undefined;
  const stir = (): void => {
    wake?.();
    wake = undefined;
  };
  const end = (): void => {
    over = true;
    stir();
  };
  signal.addEventListener('abort', end, { once: true });
  let stop: (() => void) | undefined;
  try {
    if (over) return;
    stop = await source((event) => {
      queue.push(event);
      stir();
    }, end);
    for (;;) {
      const ready = queue;
      queue = [];
      for (const event of ready) {
        if (signal.aborted) return;
        yield event;
      }
      if (queue.length > 0) continue;
      if (over) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal.removeEventListener('abort', end);
    stop?.();
  }
}
