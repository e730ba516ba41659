import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import { answerTo } from '../../../base/node-answer.ts';
import type { ApiBackend, BackendAddress } from '../../model/api-backends.ts';
import type { UserInfo } from '../../model/user-info.ts';
import type { BackendDialer } from './backend-dialer.ts';
import { identityHeaders } from './proxy-headers.ts';

export interface AskBackendParts {
  readonly dialer: BackendDialer;
  /** Returns the server's current address, or a text with the reason why it has none. */
  readonly resolve: (backend: ApiBackend) => BackendAddress | string;
  readonly clock: Clock;
}

export interface BackendQuestion {
  /** Default: the aggregator itself. */
  readonly user?: UserInfo;
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Default: JSON. */
  readonly accept?: string;
  readonly body?: { readonly text: string; readonly contentType: string };
}

/** The time limit of the whole request: name lookup, handshake, response and body. */
const ASK_MS = 5000;
const LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * The user of these requests. It may read everything, so that the response does not depend on roles (upstream: the
 * availability check).
 */
const aggregator: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };

/** The error for a response with a status other than 2xx. */
export class BackendRefusal extends Error {
  override readonly name = 'BackendRefusal';
  readonly status: number;
  readonly body: string;

  constructor(message: string, status: number, body: string) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/**
 * Sends a request, by default for a document, to the server behind an APIService. Rejects with address and reason unless
 * the status is 2xx; the cause of another status is a `BackendRefusal`.
 */
export async function askBackend(
  parts: AskBackendParts,
  backend: ApiBackend,
  path: string,
  question: BackendQuestion = {},
): Promise<string> {
  const late = new AbortController();
  const timer = parts.clock.setTimer(ASK_MS, () => late.abort());
  try {
    const { answer, failure, close } = await openBackend(parts, backend, { ...question, path, signal: late.signal });
    try {
      return await textOf(answer);
    } catch (error) {
      throw failure(error);
    } finally {
      close();
    }
  } finally {
    timer.cancel();
  }
}

/**
 * The chunks of a successful response; for watches. Rejects as `askBackend`, also if the response has not begun within
 * five seconds or was cut off. `onOpen` is called when it has begun. Ends when `signal` aborts.
 */
export async function* readBackend(
  parts: AskBackendParts,
  backend: ApiBackend,
  question: BackendQuestion & { readonly path: string; readonly signal: AbortSignal; readonly onOpen: () => void },
): AsyncGenerator<Buffer> {
  const { signal, onOpen } = question;
  const late = new AbortController();
  const timer = parts.clock.setTimer(ASK_MS, () => late.abort());
  try {
    const both = AbortSignal.any([signal, late.signal]);
    const { answer, failure, close } = await openBackend(parts, backend, { ...question, signal: both });
    timer.cancel();
    try {
      onOpen();
      yield* answer as AsyncIterable<Buffer>;
      if (!answer.complete) throw new Error('the connection was closed');
    } catch (error) {
      throw failure(error);
    } finally {
      close();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
}

interface OpenAnswer {
  readonly answer: IncomingMessage;
  /** The error to report if the body cannot be read. */
  readonly failure: (cause: unknown) => Error;
  readonly close: () => void;
}

/** Resolves when a successful response has begun. The connection is closed by `close` and when `signal` aborts. */
async function openBackend(
  parts: AskBackendParts,
  backend: ApiBackend,
  {
    path,
    signal,
    user = aggregator,
    method = 'GET',
    accept = 'application/json',
    body,
  }: BackendQuestion & { readonly path: string; readonly signal: AbortSignal },
): Promise<OpenAnswer> {
  const address = parts.resolve(backend);
  if (typeof address === 'string') throw new Error(address);
  const { host, port } = address;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  const failure = (cause: unknown): Error => {
    const why = signal.aborted ? 'context deadline exceeded' : errorMessage(cause);
    return new Error(`failing or missing response from ${url}: ${why}`, { cause });
  };
  const left = new AbortController();
  try {
    const socket = await parts.dialer(backend, address, ASK_MS);
    AbortSignal.any([signal, left.signal]).addEventListener('abort', () => socket.destroy());
    signal.throwIfAborted();
    const request = httpRequest({
      method,
      path,
      // Node expects an array for a repeated header.
      headers: {
        ...identityHeaders(user),
        accept,
        host: `${host}:${port}`,
        ...(body !== undefined && {
          'content-type': body.contentType,
          'content-length': String(Buffer.byteLength(body.text)),
        }),
        connection: 'close',
      } as Record<string, string>,
      // Node's types require a socket, but any duplex stream works.
      createConnection: () => socket as never,
      setHost: false,
    });
    request.end(body?.text);
    const answer = await answerTo(request);
    const { statusCode = 0 } = answer;
    if (statusCode < 200 || statusCode > 299)
      throw new BackendRefusal(`bad status from ${url}: ${statusCode}`, statusCode, await textOf(answer));
    return { answer, failure, close: () => left.abort() };
  } catch (error) {
    left.abort();
    throw failure(error);
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LIMIT_BYTES) throw new Error(`the answer is larger than ${LIMIT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
