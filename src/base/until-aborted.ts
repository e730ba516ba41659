import { KubeletError } from './errors.ts';

/**
 * What `work` comes to, or a rejection (with `Aborted` by default) as soon as `signal` aborts, whether the
 * work reacts to the signal or not. The work itself continues.
 */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  why: () => unknown = () => new KubeletError('Aborted', 'the wait was aborted'),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why() as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
