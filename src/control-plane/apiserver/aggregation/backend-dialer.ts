import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, BackendAddress } from '../../model/api-backends.ts';

export interface BackendDialerOptions {
  readonly clock: Clock;
  /** Shown to every backend (`--proxy-client-cert-file`, `--proxy-client-key-file`), PEM; asked for each connection. */
  readonly clientPair: () => { readonly cert: string; readonly key: string };
}

/** A connection to the server behind an APIService. Rejects with why there is none. */
export type BackendDialer = (backend: ApiBackend, address: BackendAddress, timeoutMs: number) => Promise<Duplex>;

/** The certificate has to be of the Service's name, and of the authorities that the APIService names. */
export function backendDialer({ clock, clientPair }: BackendDialerOptions): BackendDialer {
  return (backend, { host, port }, timeoutMs) =>
    new Promise((resolve, reject) => {
      const { caBundle, insecureSkipTLSVerify, service } = backend;
      const socket = connect({
        host,
        port,
        servername: `${service.name}.${service.namespace}.svc`,
        ...clientPair(),
        ...(caBundle !== undefined && { ca: caBundle }),
        rejectUnauthorized: !insecureSkipTLSVerify,
        ALPNProtocols: ['http/1.1'],
        minVersion: 'TLSv1.2',
      });
      const where = `dial tcp ${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
      const fail = (why: string): void => {
        timer.cancel();
        socket.destroy();
        reject(new Error(`${where}: ${why}`));
      };
      const timer = clock.setTimer(timeoutMs, () => fail('i/o timeout'));
      const onError = (error: Error): void => fail(error.message);
      socket.once('error', onError);
      socket.once('secureConnect', () => {
        timer.cancel();
        socket.off('error', onError);
        socket.setNoDelay(true);
        resolve(socket);
      });
    });
}
