import { Buffer } from 'node:buffer';
import net from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import type { AnswerState } from './http-answer.ts';
import { AnswerReader } from './http-answer.ts';
import { dialError } from './net-dial-errors.ts';
import type { ExchangeAnswer } from './net-dial-http.ts';
import { BODY_TIMEOUT } from './net-dial-http.ts';

/** A GET over plain HTTP that is prepared to be sent repeatedly. */
export interface PlainRequest {
  /** The text for messages. */
  readonly where: string;
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** The request as it is sent. */
  readonly text: string;
}

const limits = { headBytes: 64 * 1024, bodyBytes: 10 * 1024 };
/** All connections read into the same memory. The needed part is copied before the next read. */
const sharedBuffer = Buffer.allocUnsafeSlow(32 * 1024);
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const unfitValue = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** Builds a request. Throws `Unavailable`, with the message of Go's client, for headers that HTTP cannot carry. */
export function plainRequest(url: URL, headers: readonly { name: string; value: string }[]): PlainRequest {
  const where = `Get "${url.href}"`;
  for (const { name, value } of headers) {
    if (!token.test(name))
      throw new KubeletError('Unavailable', `${where}: net/http: invalid header field name ${JSON.stringify(name)}`);
    if (unfitValue.test(value))
      throw new KubeletError(
        'Unavailable',
        `${where}: net/http: invalid header field value for ${JSON.stringify(name)}`,
      );
  }
  const port = url.port === '' ? 80 : Number(url.port);
  const hosts = headers.filter(({ name }) => name.toLowerCase() === 'host');
  const host = hosts[0]?.value ?? '';
  // As in Go's client, the caller cannot set the headers for the connection and the body.
  const own = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'trailer']);
  const lines = [
    `GET ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${host === '' ? url.host : host}`,
    ...headers.filter(({ name }) => !own.has(name.toLowerCase())).map(({ name, value }) => `${name}: ${value.trim()}`),
    'Connection: close',
  ];
  return {
    where,
    address: `${url.hostname}:${port}`,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    text: `${lines.join('\r\n')}\r\n\r\n`,
  };
}

/**
 * Makes one request on its own connection with as little overhead as possible, because a node makes up to a thousand a
 * second. Rejects with KubeletError: `Timeout`, `Aborted`, `Unavailable`, or `Internal` if this process ran out of a
 * resource.
 */
export function exchangePlain(
  request: PlainRequest,
  limit: { timeoutMs: number; timeoutText: string },
  signal?: AbortSignal,
): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(new KubeletError('Aborted', 'the connection was aborted'));
    const reader = new AnswerReader(limits);
    let over = false;
    const finish = (): boolean => {
      if (over) return false;
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      return true;
    };
    const fail = (error: KubeletError): void => {
      if (finish()) reject(error);
    };
    /** Handles an error. After the head was received, there is still a response, with a broken body. */
    const breakOff = (why: string, error: () => KubeletError): void => {
      const { head } = reader;
      if (head === undefined) fail(error());
      else if (finish()) resolve({ ...head, body: '', broken: why });
    };
    const take = (state: AnswerState): void => {
      if (state.kind === 'more') return;
      if (state.kind !== 'answer')
        return breakOff(state.message, () => new KubeletError('Unavailable', `${request.where}: ${state.message}`));
      if (finish()) resolve(state);
    };
    const socket = net.connect({
      host: request.host,
      port: request.port,
      onread: {
        buffer: sharedBuffer,
        callback: (size) => {
          if (!over) take(reader.push(sharedBuffer.subarray(0, size)));
          return !over;
        },
      },
    });
    const timer = setTimeout(
      () => breakOff(BODY_TIMEOUT, () => new KubeletError('Timeout', limit.timeoutText)),
      Math.min(limit.timeoutMs, 2 ** 31 - 1),
    );
    const abort = (): void => fail(new KubeletError('Aborted', 'the connection was aborted'));
    signal?.addEventListener('abort', abort);
    socket.on('error', (error) => breakOff('unexpected EOF', () => dialError(error, request.where, request.address)));
    socket.on('end', () => take(reader.end()));
    // UTF-8, as in Go's client. Latin-1 would drop the upper byte of other letters, and some of them would become line
    // breaks.
    socket.write(request.text, 'utf8');
  });
}
