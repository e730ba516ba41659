import type { Clock } from '../../../base/clock.ts';
import type { CallOptions } from '../../ports/runtime.ts';

/** Most starts end well within a second, on busy machines too; what takes longer may hang. */
export const FINISHING_MS = 3000;

/**
 * Runs a call that makes or starts something so that its caller's change of mind does not cut it off at once: it is given some time to end by itself,
 * and its result then counts. containerd forgets a task whose start was cut off, and the shim with it, which then stays for good
 * (seen with 1.6 and 2.1). An answer that does not come in that time is given up.
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
