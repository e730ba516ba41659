import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, BackendAddress } from '../../model/api-backends.ts';

export interface BackendDialerOptions {
  readonly clock: Clock;
  /**
   * The client certificate for all backends (`--proxy-client-cert-file`, `--proxy-client-key-file`), PEM; read for each
   * connection.
   */
  readonly clientPair: () => { readonly cert: string; readonly key: string };
}

/** Connects to the server behind an APIService. Rejects with the reason. */
export type BackendDialer = (backend: ApiBackend, address: BackendAddress, timeoutMs: number) => Promise<Duplex>;

/** The certificate must be valid for the Service's name and issued by a CA of the APIService. */
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
