import type { Clock } from '../../../base/clock.ts';

/** Runs the work, and reports its duration and whether it failed. */
export async function timed<T>(
  clock: Clock,
  work: () => Promise<T>,
  done: (durationMs: number, failed: boolean) => void,
): Promise<T> {
  const startMs = clock.monotonicMs();
  let failed = true;
  try {
    const result = await work();
    failed = false;
    return result;
  } finally {
    done(clock.monotonicMs() - startMs, failed);
  }
}
