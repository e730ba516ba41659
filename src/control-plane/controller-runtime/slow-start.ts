/**
 * Calls `work` `count` times in batches of `initial`, twice that, and so on. A batch starts only if the previous one
 * succeeded completely (upstream: slowStartBatch), so that an exhausted quota causes one refusal and not a thousand.
 */
export async function slowStart(
  count: number,
  initial: number,
  work: (index: number) => Promise<unknown>,
): Promise<{ readonly done: number; readonly error?: unknown }> {
  let done = 0;
  let next = 0;
  for (let size = Math.min(initial, count); size > 0; size = Math.min(2 * size, count - next)) {
    const from = next;
    next += size;
    const results = await Promise.allSettled(Array.from({ length: size }, (_, index) => work(from + index)));
    done += results.filter(({ status }) => status === 'fulfilled').length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) return { done, error: failed.reason as unknown };
  }
  return { done };
}
