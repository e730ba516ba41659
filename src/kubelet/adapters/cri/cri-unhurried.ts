import type { Clock } from '../../../base/clock.ts';
import type { CallOptions } from '../../ports/runtime.ts';

/** The time to finish after an abort. Most starts end within a second, even on busy machines; a longer one may hang. */
export const FINISHING_MS = 3000;

/**
 * Runs a call that creates or starts something so that its caller's abort does not cut it off at once: it gets some
 * time to complete, and its result then counts. containerd loses a task whose start was cut off, and its shim then
 * stays permanently (seen with 1.6 and 2.1). A call that does not complete in that time is aborted.
 */
export async function unhurried<T>(
  clock: Clock,
  options: CallOptions,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const { signal } = options;
  if (signal === undefined || signal.aborted) return call(options);
  const wire = new AbortController();
  let cutOff = (): void => undefined;
  const onAbort = (): void => {
    const timer = clock.setTimer(FINISHING_MS, () => wire.abort());
    cutOff = () => timer.cancel();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await call({ ...options, signal: wire.signal });
  } finally {
    signal.removeEventListener('abort', onAbort);
    cutOff();
  }
}
