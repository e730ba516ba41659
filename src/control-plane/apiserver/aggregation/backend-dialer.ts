import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { BoundedMap } from '../../../base/bounded-map.ts';
import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, BackendAddress } from '../../model/api-backends.ts';

export interface BackendDialerOptions {
  readonly clock: Clock;
  /**
   * Returns the client certificate for all backends (`--proxy-client-cert-file`, `--proxy-client-key-file`) as PEM. It
   * is read for each connection.
   */
  readonly clientPair: () => { readonly cert: string; readonly key: string };
}

/** Connects to the server behind an APIService. Rejects with the reason. */
export type BackendDialer = (backend: ApiBackend, address: BackendAddress, timeoutMs: number) => Promise<Duplex>;

const SESSIONS_LIMIT = 100;

/**
 * Creates the dialer. The certificate must be valid for the Service's name and issued by a CA of the APIService. Each
 * request has a connection of its own, but TLS sessions are resumed, which saves the key exchange and the verification.
 * A session is resumed only with the same address, name, CAs and client certificate.
 */
export function backendDialer({ clock, clientPair }: BackendDialerOptions): BackendDialer {
  const sessions = new BoundedMap<string, Buffer>(SESSIONS_LIMIT);
  return (backend, { host, port }, timeoutMs) =>
    new Promise((resolve, reject) => {
      const { caBundle, insecureSkipTLSVerify, service } = backend;
      const pair = clientPair();
      const servername = `${service.name}.${service.namespace}.svc`;
      const sessionKey = JSON.stringify([host, port, servername, caBundle, insecureSkipTLSVerify, pair.cert]);
      const session = sessions.get(sessionKey);
      const socket = connect({
        host,
        port,
        servername,
        ...pair,
        ...(session !== undefined && { session }),
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
      const onError = (error: Error): void => {
        sessions.delete(sessionKey);
        fail(error.message);
      };
      socket.on('session', (next) => sessions.set(sessionKey, next));
      socket.once('error', onError);
      socket.once('secureConnect', () => {
        timer.cancel();
        socket.off('error', onError);
        socket.setNoDelay(true);
        resolve(socket);
      });
    });
}
