/** More than this waits in the source. */
const MOST_WAITING = 1000;

/**
 * What a source yields, as lists: each has what came while the one before it was worked on. Ends as the source does,
 * after everything that came before.
 */
export async function* inBatches<T>(source: AsyncIterable<T>): AsyncIterable<readonly T[]> {
  let waiting: T[] = [];
  let wake = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  let end: { readonly error?: unknown } | undefined;
  const iterator = source[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    try {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        waiting.push(next.value);
        wake.resolve();
        if (waiting.length >= MOST_WAITING) await room.promise;
      }
      end = {};
    } catch (error) {
      end = { error };
    }
    wake.resolve();
  };
  void read();
  try {
    for (;;) {
      await wake.promise;
      wake = Promise.withResolvers<void>();
      const batch = waiting;
      waiting = [];
      room.resolve();
      room = Promise.withResolvers<void>();
      if (batch.length > 0) yield batch;
      if (end === undefined || waiting.length > 0) continue;
      if ('error' in end) throw end.error;
      return;
    }
  } finally {
    room.resolve();
    void iterator.return?.();
  }
}
