import { Buffer } from 'node:buffer';
import http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import { isKind, KubeletError } from '../../../base/errors.ts';
import { answerFault } from '../../../base/node-answer.ts';
import { shownUrl } from '../../../base/shown-url.ts';
import { dialError } from './net-dial-errors.ts';

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** Go's message for a deadline that passes after the head was received. */
export const BODY_TIMEOUT = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly verifyTls: boolean;
  /** How a body that is too large is handled. `truncate` also accepts a body that breaks off. */
  readonly body: { limitBytes: number; whenLarger: 'truncate' | 'fail' };
  /** Whether the caller's headers may be secret. Then none is sent to another scheme, host or port. */
  readonly secretHeaders?: boolean;
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
  /** Why the body was incomplete, if that is not an error. */
  readonly broken?: string;
}

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_REDIRECTS = 10;

/**
 * Makes one request on its own connection. Rejects with KubeletError. If `signal` aborts, it rejects with the signal's
 * reason.
 */
function exchange(request: Exchange, signal: AbortSignal): Promise<ExchangeAnswer> {
  const { url } = request;
  const where = `Get "${shownUrl(url.href)}"`;
  return new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http;
    const options: https.RequestOptions = {
      method: request.method,
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? undefined : url.port,
      path: `${url.pathname}${url.search}`,
      headers: headersOf(request.headers),
      // Without an agent there is one connection that is closed afterwards, and never a proxy.
      agent: false,
      rejectUnauthorized: request.verifyTls,
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    let outgoing: http.ClientRequest;
    try {
      outgoing = client.request(options);
    } catch (error) {
      // HTTP cannot carry this header or path.
      return reject(dialError(error, where, addressOf(url)));
    }
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', abort);
      reject(error instanceof KubeletError ? error : dialError(error, where, addressOf(url)));
      outgoing.destroy();
    };
    let breakOff: ((why: string) => void) | undefined;
    const abort = (): void => {
      // After the head was received, a deadline applies only to the body.
      if (breakOff !== undefined && request.body.whenLarger === 'truncate' && isKind(signal.reason, 'Timeout'))
        breakOff(BODY_TIMEOUT);
      else fail(signal.reason);
    };
    const finish = (answer: ExchangeAnswer): void => {
      signal.removeEventListener('abort', abort);
      resolve(answer);
      outgoing.destroy();
    };
    outgoing.on('error', fail);
    // For Go's client this is a normal response without a body.
    outgoing.on('upgrade', ({ statusCode = 0 }: http.IncomingMessage, socket: net.Socket) => {
      socket.destroy();
      finish({ status: statusCode, location: undefined, body: '' });
    });
    outgoing.on('response', (incoming) => {
      const fault = incoming.statusCode === 101 ? undefined : answerFault(incoming);
      if (incoming.statusCode === 101) finish({ status: 101, location: undefined, body: '' });
      else if (fault !== undefined) fail(new KubeletError('Unavailable', `${where}: ${fault}`));
      else breakOff = collect(incoming, request, { finish, fail });
    });
    outgoing.on('close', () => {
      if (breakOff === undefined) fail(new KubeletError('Unavailable', `${where}: EOF`));
    });
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    outgoing.end();
  });
}

/** Collects the body. Returns a function that ends it early. */
function collect(
  incoming: http.IncomingMessage,
  request: Exchange,
  then: { finish: (answer: ExchangeAnswer) => void; fail: (error: unknown) => void },
): (why: string) => void {
  const { limitBytes, whenLarger } = request.body;
  const chunks: Buffer[] = [];
  let size = 0;
  const answer = (): ExchangeAnswer => ({
    status: incoming.statusCode ?? 0,
    location: incoming.headers.location,
    body: Buffer.concat(chunks).subarray(0, limitBytes).toString('utf8'),
  });
  incoming.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= limitBytes) return;
    if (whenLarger === 'truncate') then.finish(answer());
    else
      then.fail(
        new KubeletError('Invalid', `Get "${shownUrl(request.url.href)}": the body is larger than ${limitBytes} bytes`),
      );
  });
  const breakOff = (why: string): void => {
    if (whenLarger === 'truncate') then.finish({ ...answer(), body: '', broken: why });
    else then.fail(new Error(why));
  };
  incoming.on('end', () => (incoming.complete ? then.finish(answer()) : breakOff('unexpected EOF')));
  incoming.on('error', () => breakOff('unexpected EOF'));
  incoming.on('close', () => {
    if (!incoming.complete) breakOff('unexpected EOF');
  });
  return breakOff;
}

export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * Follows redirects as Go's client does, as long as `mayFollow` allows. It starts with the first response if that was
 * already received, and returns the last response.
 */
export async function exchangeFollowing(
  first: Exchange,
  mayFollow: (from: URL, to: URL) => boolean,
  signal: AbortSignal,
  firstAnswer?: ExchangeAnswer,
): Promise<ExchangeAnswer & { refusedRedirect: boolean }> {
  let request = first;
  let known = firstAnswer;
  for (let redirects = 0; ; redirects++) {
    const answer = known ?? (await exchange(request, signal));
    known = undefined;
    if (!isRedirect(answer.status)) return { ...answer, refusedRedirect: false };
    const where = `Get "${shownUrl(request.url.href)}"`;
    if (answer.location === undefined)
      throw new KubeletError('Unavailable', `${where}: ${answer.status} response missing Location header`);
    if (!URL.canParse(answer.location, request.url))
      throw new KubeletError('Unavailable', `${where}: failed to parse Location header "${answer.location}"`);
    const target = new URL(answer.location, request.url);
    if (!mayFollow(first.url, target)) return { ...answer, refusedRedirect: true };
    if (redirects + 1 >= MAX_REDIRECTS)
      throw new KubeletError('Unavailable', `${where}: stopped after ${MAX_REDIRECTS} redirects`);
    if (target.protocol !== 'http:' && target.protocol !== 'https:')
      throw new KubeletError(
        'Unavailable',
        `${where}: unsupported protocol scheme "${target.protocol.replace(':', '')}"`,
      );
    request = {
      ...request,
      url: target,
      headers: headersAfterRedirect(first, target, answer.location),
      method: request.method === 'HEAD' ? 'HEAD' : 'GET',
    };
  }
}

/**
 * Returns the headers after a redirect. The caller's Host header is kept only for a relative redirect, and secrets only
 * for the same host.
 */
function headersAfterRedirect(first: Exchange, target: URL, location: string): readonly Header[] {
  const relative = !URL.canParse(location);
  const sameHost = target.hostname === first.url.hostname;
  if (first.secretHeaders === true && target.origin !== first.url.origin) return [];
  return first.headers.filter(({ name }) => {
    const lower = name.toLowerCase();
    if (lower === 'host') return relative;
    return sameHost || !['authorization', 'www-authenticate', 'cookie', 'cookie2'].includes(lower);
  });
}

function headersOf(headers: readonly Header[]): Record<string, string | string[]> {
  const byName = new Map<string, { name: string; values: string[] }>();
  for (const { name, value } of headers) {
    const known = byName.get(name.toLowerCase()) ?? { name, values: [] };
    known.values.push(value);
    byName.set(name.toLowerCase(), known);
  }
  return Object.fromEntries(
    [...byName.values()].map(({ name, values }) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}

function addressOf(url: URL): string {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return `${url.hostname}:${port}`;
}
