import net from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import { dialError } from './net-dial-errors.ts';

/** Connects and closes. Rejects with KubeletError: `Timeout`, `Aborted` or `Unavailable`, with Go's messages. */
export function connectOnly(
  to: { host: string; port: number; address: string; timeoutMs: number },
  signal?: AbortSignal,
): Promise<void> {
  const { host, port, address, timeoutMs } = to;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(new KubeletError('Aborted', 'the connection was aborted'));
    const socket = net.connect({ host, port });
    let over = false;
    const finish = (error?: KubeletError): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const timer = setTimeout(
      () => finish(new KubeletError('Timeout', `dial tcp ${address}: i/o timeout`)),
      Math.min(timeoutMs, 2 ** 31 - 1),
    );
    const abort = (): void => finish(new KubeletError('Aborted', 'the connection was aborted'));
    signal?.addEventListener('abort', abort);
    socket.on('connect', () => finish());
    socket.on('error', (error) => finish(dialError(error, '', address)));
  });
}
