import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { endToEndHeaders } from '../base/hop-by-hop.ts';

export interface UpgradeRequest {
  /** An open connection to the target; used for this one request. */
  readonly connection: Duplex;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The requested protocol; `Connection` and `Upgrade` are set from it. */
  readonly protocol: string;
  readonly clock: Clock;
}

/**
 * The server's answer to an upgrade request. The connection becomes a raw one only after a 101 with exactly the
 * requested protocol (CVE-2018-1002105). Any other answer is passed to the client, and the connection ends after it.
 * Redirects are not followed (CVE-2018-1002102, CVE-2020-8559).
 */
export type UpgradeAnswer =
  | {
      readonly kind: 'switched';
      readonly response: IncomingMessage;
      readonly connection: Duplex;
      readonly head: Buffer;
    }
  | { readonly kind: 'answer'; readonly response: IncomingMessage };

/** The limit for the head of an answer. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Rejects with `Unavailable` when there is no answer, and with `Internal` for a switch to another protocol. */
export function requestUpgrade({
  connection,
  method,
  path,
  headers,
  protocol,
  clock,
}: UpgradeRequest): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const sent = { ...headers, connection: 'Upgrade', upgrade: protocol } as Record<string, string>;
    // Node's types require a socket; any duplex stream works.
    const request = httpRequest({
      method,
      path,
      headers: sent,
      createConnection: () => connection as never,
      setHost: false,
    });
    const timer = clock.setTimer(ANSWER_TIMEOUT_MS, () => request.destroy(new Error('no answer came in time')));
    const refuse = (switched: Duplex): void => {
      switched.destroy();
      reject(new KubeletError('Internal', 'the backend switched to another protocol than was asked for'));
    };
    request.on('error', (error) => {
      timer.cancel();
      connection.destroy();
      reject(new KubeletError('Unavailable', error.message));
    });
    request.on('response', (response) => {
      timer.cancel();
      // A 101 without a protocol must not be passed on: the client would treat the connection as a stream.
      if ((response.statusCode ?? 0) < 200) return refuse(connection);
      resolve({ kind: 'answer', response });
    });
    request.on('upgrade', (response, switched: Duplex, head) => {
      timer.cancel();
      if (response.statusCode === 101 && response.headers.upgrade?.toLowerCase() === protocol.toLowerCase()) {
        resolve({ kind: 'switched', response, connection: switched, head });
        return;
      }
      refuse(switched);
    });
    // Without an answer and without an error. What has an answer is settled by then.
    request.on('close', () => {
      timer.cancel();
      reject(new KubeletError('Unavailable', 'the connection was closed without an answer'));
    });
    request.end();
  });
}

/**
 * The head of a 101 for a client that is then connected to the backend directly: the protocol headers, without
 * hop-by-hop headers and without those that describe a body.
 */
export function switchingHead({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string {
  const kept = new Set(Object.keys(endToEndHeaders(headers)).filter((name) => name !== 'content-length'));
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${headers.upgrade ?? ''}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (kept.has(rawHeaders[index]?.toLowerCase() ?? '')) lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
