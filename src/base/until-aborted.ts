import { KubeletError } from './errors.ts';

/**
 * The result of `work`, or a rejection (by default with `Aborted`) as soon as `signal` aborts, even if the work ignores
 * the signal. The work itself continues.
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
