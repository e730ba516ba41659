import { connect as connectTcp, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import type { DialTarget, Dialer } from '../options.ts';

export interface NodeDialerOptions {
  readonly clock: Clock;
  /** Shown to kubelets (`--kubelet-client-certificate`, `--kubelet-client-key`), PEM; asked for each connection, as certificates are renewed. */
  readonly clientPair?: () => { readonly cert: string; readonly key: string };
  /** `--kubelet-certificate-authority`, PEM. Absent: kubelets' certificates are not checked, as upstream's default is. */
  readonly certificateAuthority?: string;
}

/** Connections over the network. The client certificate goes to kubelets only. */
export function nodeDialer(options: NodeDialerOptions): Dialer {
  return {
    dial: ({ host, port, security }, timeoutMs) =>
      new Promise((resolve, reject) => {
        const socket = open({ host, port, security }, options);
        const fail = (why: string): void => {
          timer.cancel();
          socket.destroy();
          reject(new ApiStatusError('ServiceUnavailable', `error dialing backend: dial tcp ${isIP(host) === 6 ? `[${host}]` : host}:${port}: ${why}`));
        };
        const timer = options.clock.setTimer(timeoutMs, () => fail('i/o timeout'));
        const onError = (error: Error): void => fail(error.message);
        socket.once('error', onError);
        socket.once(security === 'none' ? 'connect' : 'secureConnect', () => {
          timer.cancel();
          socket.off('error', onError);
          socket.setNoDelay(true);
          socket.setKeepAlive(true, 30_000);
          resolve(socket);
        });
      }),
  };
}

function open({ host, port, security }: DialTarget, { clientPair, certificateAuthority }: NodeDialerOptions): Socket {
  if (security === 'none') return connectTcp({ host, port });
  const servername = isIP(host) === 0 ? host : undefined;
  if (security === 'tls-insecure') return connectTls({ host, port, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const isChecked = certificateAuthority !== undefined && security === 'kubelet';
  return connectTls({ host, port, servername, ...clientPair?.(), ca: certificateAuthority, rejectUnauthorized: isChecked, ALPNProtocols: ['http/1.1'], minVersion: 'TLSv1.2' });
}
