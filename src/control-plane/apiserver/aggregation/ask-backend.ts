import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../base/clock.ts';
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
  readonly body: string;

  constructor(message: string, body: string) {
    super(message);
    this.body = body;
  }
}

/**
 * Sends a request, by default for a document, as `user` to the server behind an APIService. Rejects with address and
 * reason unless the status is 2xx; the cause of another status is a `BackendRefusal`.
 */
export async function askBackend(
  parts: AskBackendParts,
  backend: ApiBackend,
  path: string,
  { user = aggregator, method = 'GET' }: { readonly user?: UserInfo; readonly method?: 'GET' | 'DELETE' } = {},
): Promise<string> {
  const address = parts.resolve(backend);
  if (typeof address === 'string') throw new Error(address);
  const { host, port } = address;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  const failure = (why: string, cause?: unknown): Error =>
    new Error(`failing or missing response from ${url}: ${why}`, { cause });
  const leave = new AbortController();
  const timer = parts.clock.setTimer(ASK_MS, () => leave.abort());
  try {
    const socket = await parts.dialer(backend, address, ASK_MS);
    leave.signal.addEventListener('abort', () => socket.destroy());
    try {
      const sent = { ...identityHeaders(user), accept: 'application/json', host: `${host}:${port}` };
      const request = httpRequest({
        method,
        path,
        // Node expects an array for a repeated header.
        headers: { ...sent, connection: 'close' } as Record<string, string>,
        // Node's types require a socket, but any duplex stream works.
        createConnection: () => socket as never,
        setHost: false,
      });
      request.end();
      const answer = await answerTo(request);
      const { statusCode = 0 } = answer;
      if (statusCode < 200 || statusCode > 299)
        throw new BackendRefusal(`bad status from ${url}: ${statusCode}`, await textOf(answer));
      return await textOf(answer);
    } finally {
      socket.destroy();
    }
  } catch (error) {
    if (leave.signal.aborted) throw failure('context deadline exceeded');
    throw failure(error instanceof Error ? error.message : String(error), error);
  } finally {
    timer.cancel();
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
