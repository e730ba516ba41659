/** Starts a source that pushes events; returns the function that stops it. */
export type PushSource<T> = (push: (event: T) => void, end: () => void) => Promise<() => void>;

/**
 * Pushed events as an async iterable. The source starts with the iteration, and stops when the reader leaves the loop
 * or `signal` aborts. The queue is not bounded, because the reader runs in the same process.
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
