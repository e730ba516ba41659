import type { RequestListener } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2Session, Http2ServerRequest, Http2ServerResponse, SecureServerOptions } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, connect } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { makeTestCertificates } from '../../control-plane/apiserver/testing/test-certificates.ts';
import type { ClusterAccess } from '../cluster-access.ts';

export const certificates = makeTestCertificates();

export interface TestServer {
  readonly port: number;
  readonly access: ClusterAccess;
  /** The connections that were made so far, open or not. */
  readonly sockets: readonly TLSSocket[];
  readonly sessions: readonly Http2Session[];
}

export type TestAnswer = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** A server for both protocols, or for HTTP/1.1 only. */
export async function serveTls(
  t: TestContext,
  answer: TestAnswer,
  { h2 = true, ...options }: SecureServerOptions & { readonly h2?: boolean } = {},
): Promise<TestServer> {
  const { key, cert, clientCa } = certificates;
  const all = { key, cert, ca: clientCa, requestCert: true, rejectUnauthorized: false, ...options };
  // Requests and responses are the same in both.
  const server = h2
    ? createSecureServer({ ...all, allowHTTP1: true }, answer)
    : createHttpsServer(all, answer as unknown as RequestListener);
  const [sockets, sessions]: [TLSSocket[], Http2Session[]] = [[], []];
  server.on('secureConnection', (socket: TLSSocket) => sockets.push(socket));
  server.on('session', (session: Http2Session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const port = await listen(server);
  return { port, access: accessTo(port), sockets, sessions };
}

export function accessTo(port: number): ClusterAccess {
  return {
    server: `https://127.0.0.1:${port}`,
    ca: certificates.cert,
    tlsServerName: 'localhost',
    insecureSkipTlsVerify: false,
    namespace: 'default',
  };
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A connection between client and server that can break silently: both ends still consider it open. */
export async function deadWire(t: TestContext, to: number): Promise<{ readonly port: number; kill(): void }> {
  const ends: Socket[] = [];
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: to });
    near.pipe(far).pipe(near);
    for (const end of [near, far]) {
      ends.push(end);
      end.on('error', () => undefined);
    }
  });
  t.after(() => {
    for (const end of ends) end.destroy();
    server.close();
  });
  return {
    port: await listen(server),
    kill: () => {
      for (const end of ends) end.unpipe().pause();
    },
  };
}
