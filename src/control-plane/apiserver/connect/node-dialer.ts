import { connect as connectTcp, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import type { DialTarget, Dialer } from '../options.ts';

export interface NodeDialerOptions {
  readonly clock: Clock;
  /** Shown to kubelets (`--kubelet-client-certificate`, `--kubelet-client-key`), PEM; asked for each connection, as certificates are renewed. */
  readonly clientPair?: () => { readonly cert: string; readonly key: string };
  /** `--kubelet-certificate-authority`, PEM, asked for each connection. Absent: kubelets' certificates are not checked, as upstream's default is. */
  readonly certificateAuthority?: () => string;
}

/** Connections over the network. The client certificate goes to kubelets only. Rejects with where it was and why, in the words of Go's `net`. */
export function nodeDialer(options: NodeDialerOptions): Dialer {
  return {
    dial: ({ host, port, security }, timeoutMs) =>
      new Promise((resolve, reject) => {
        const socket = open({ host, port, security }, options);
        const fail = (why: string): void => {
          timer.cancel();
          socket.destroy();
          reject(new Error(`dial tcp${why}`));
        };
        const place = ` ${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
        const timer = options.clock.setTimer(timeoutMs, () => fail(`${place}: i/o timeout`));
        const onError = (error: NodeJS.ErrnoException): void =>
          fail(isUnknownName(error) ? `: lookup ${host}: ${inWords(error)}` : `${place}: ${inWords(error)}`);
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

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'connect: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'server misbehaving',
};

const inWords = ({ code = '', message }: NodeJS.ErrnoException): string => words[code] ?? message;

const isUnknownName = ({ code }: NodeJS.ErrnoException): boolean => code === 'ENOTFOUND' || code === 'EAI_AGAIN';

function open({ host, port, security }: DialTarget, { clientPair, certificateAuthority }: NodeDialerOptions): Socket {
  if (security === 'none') return connectTcp({ host, port });
  const servername = isIP(host) === 0 ? host : undefined;
  if (security === 'tls-insecure')
    return connectTls({ host, port, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const isChecked = certificateAuthority !== undefined && security === 'kubelet';
  return connectTls({
    host,
    port,
    servername,
    ...clientPair?.(),
    ca: certificateAuthority?.(),
    rejectUnauthorized: isChecked,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
}
