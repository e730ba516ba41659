import { Buffer } from 'node:buffer';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { ConnectionFailure } from './connection.ts';

/** The parts of an access that determine a connection: if they differ, another connection is needed. */
export type DialTarget = Pick<
  ClusterAccess,
  'server' | 'ca' | 'certificate' | 'key' | 'insecureSkipTlsVerify' | 'tlsServerName' | 'proxyUrl'
>;

export interface DialOptions {
  readonly clock: Clock;
  /** In milliseconds, for the whole connection, including TLS and proxy. */
  readonly dialLimitMs: number;
  /** In order of preference. */
  readonly protocols: readonly ('h2' | 'http/1.1')[];
}

/** Upstream's dialer probes as often. */
const KEEP_ALIVE_MS = 30_000;

export function sameTarget(one: DialTarget, other: DialTarget): boolean {
  const fields = ['server', 'ca', 'certificate', 'key', 'insecureSkipTlsVerify', 'tlsServerName', 'proxyUrl'] as const;
  return fields.every((field) => one[field] === other[field]);
}

/** A TLS connection that is ready, or a plain one to an `http:` server. Rejects with `ConnectionFailure`. */
export function dial(target: DialTarget, options: DialOptions): Promise<Socket | TLSSocket> {
  const url = new URL(target.server);
  const secure = url.protocol === 'https:';
  const [host, port] = [url.hostname.replace(/^\[|\]$/g, ''), Number(url.port === '' ? (secure ? 443 : 80) : url.port)];
  return new Promise((resolve, reject) => {
    let socket: Socket | undefined;
    let endProxy: (() => void) | undefined;
    let settled = false;
    const timer = options.clock.setTimer(options.dialLimitMs, () =>
      fail(new Error(`no connection after ${options.dialLimitMs / 1000} s`)),
    );
    const fail = (error: Error): void => {
      timer.cancel();
      socket?.destroy();
      endProxy?.();
      settled = true;
      reject(new ConnectionFailure(error.message, { unsent: true, cause: error }));
    };
    const watched = (made: Socket, event: 'connect' | 'secureConnect', then: () => void): void => {
      socket = made;
      made.once('error', fail);
      made.once(event, () => {
        made.off('error', fail);
        if (settled) made.destroy();
        else then();
      });
    };
    const done = (made: Socket): void => {
      timer.cancel();
      settled = true;
      made.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(made);
    };
    const secured = (below: Socket): void => {
      try {
        const made = connectTls({ socket: below, ...tlsOptions(target, host, options.protocols) });
        watched(made, 'secureConnect', () => done(made));
      } catch (error) {
        // Detects invalid certificates and keys.
        below.destroy();
        fail(error as Error);
      }
    };
    const ready = (made: Socket): void => (secure ? secured(made) : done(made));
    if (target.proxyUrl !== undefined)
      endProxy = throughProxy(new URL(target.proxyUrl), { host, port }, (result) =>
        result instanceof Error ? fail(result) : settled ? result.destroy() : ready(result),
      );
    else {
      const made = connect({ host, port });
      watched(made, 'connect', () => ready(made));
    }
  });
}

function tlsOptions(
  { ca, certificate, key, insecureSkipTlsVerify, tlsServerName }: DialTarget,
  host: string,
  protocols: DialOptions['protocols'],
): object {
  const named = tlsServerName ?? (/^[\d.]+$|:/.test(host) ? '' : host);
  return {
    // The certificate is checked against `host`; an IP address is not sent as the server name (SNI).
    host: tlsServerName ?? host,
    servername: named,
    ALPNProtocols: protocols,
    rejectUnauthorized: !insecureSkipTlsVerify,
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
  };
}

/** Sends CONNECT to an HTTP proxy. Returns a function that cancels it. */
function throughProxy(
  proxy: URL,
  { host, port }: { readonly host: string; readonly port: number },
  done: (result: Socket | Error) => void,
): () => void {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const credentials =
    proxy.username === ''
      ? {}
      : {
          'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`,
        };
  const asked = request({
    host: proxy.hostname,
    port: proxy.port === '' ? 80 : Number(proxy.port),
    method: 'CONNECT',
    path: authority,
    agent: false,
    headers: { host: authority, ...credentials },
  });
  let isAnswered = false;
  asked.once('connect', (answer, socket) => {
    isAnswered = true;
    if (answer.statusCode === 200) return done(socket as Socket);
    socket.destroy();
    done(new Error(`the proxy ${proxy.host} answered ${answer.statusCode}`));
  });
  asked.once('response', (answer) => {
    answer.destroy();
    done(new Error(`the proxy ${proxy.host} answered ${answer.statusCode}`));
  });
  asked.on('error', done);
  asked.once('close', () => {
    if (!isAnswered) done(new Error(`the proxy ${proxy.host} closed the connection without an answer`));
  });
  asked.end();
  return () => void asked.destroy();
}
