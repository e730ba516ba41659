import { Readable } from 'node:stream';
import type { RequestTarget } from '../../../base/request-head.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { HeaderMap, HttpRequest } from '../http/http-request.ts';
import type { BodyReply, Reply } from '../http/reply.ts';

export interface FakeRequestOptions {
  readonly headers?: HeaderMap;
  readonly body?: string | Uint8Array | object;
  readonly clientCertificate?: HttpRequest['clientCertificate'];
  readonly remoteAddress?: string;
}

/** A request without a socket. `finish` simulates that its response was sent or its client disconnected. */
export type FakeRequest = HttpRequest & { finish(): void; readonly wasCut: boolean };

export function fakeRequest(
  method: string,
  target: string,
  { headers = {}, body, clientCertificate, remoteAddress = '10.0.0.1' }: FakeRequestOptions = {},
): FakeRequest {
  const bytes =
    body === undefined
      ? Buffer.alloc(0)
      : typeof body === 'string' || body instanceof Uint8Array
        ? Buffer.from(body as string)
        : Buffer.from(JSON.stringify(body));
  const listeners: (() => void)[] = [];
  let isFinished = false;
  let wasCut = false;
  const finish = (): void => {
    isFinished = true;
    for (const listener of listeners.splice(0)) listener();
  };
  return {
    method,
    target: targetOf(target),
    bodyLength: bytes.length,
    headers,
    protocol: 'HTTP/1.1',
    remoteAddress,
    connection: {},
    ...(clientCertificate !== undefined && { clientCertificate }),
    readBody: (limitBytes) =>
      bytes.length > limitBytes
        ? Promise.reject(
            new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`),
          )
        : Promise.resolve(bytes),
    bodyStream: () => Readable.from([bytes]),
    get isFinished() {
      return isFinished;
    },
    onFinished: (listener) => (isFinished ? listener() : void listeners.push(listener)),
    get wasCut() {
      return wasCut;
    },
    cut: () => {
      wasCut = true;
      finish();
    },
    finish,
  };
}

function targetOf(target: string): RequestTarget {
  const at = target.indexOf('?');
  return at < 0 ? { rawPath: target, search: '' } : { rawPath: target.slice(0, at), search: target.slice(at) };
}

export function bodyText(reply: Reply): string {
  if (reply.kind !== 'body') throw new Error(`a ${reply.kind} has no body`);
  const { body } = reply;
  return typeof body === 'string'
    ? body
    : body instanceof Uint8Array
      ? Buffer.from(body).toString('utf8')
      : Buffer.concat(body).toString('utf8');
}

// Tests assert the shape of a response; the cast is only here.
export const bodyJson = (reply: Reply): Record<string, unknown> =>
  JSON.parse(bodyText(reply)) as Record<string, unknown>;

export const headerOfReply = (reply: Reply, name: string): string | readonly string[] | undefined =>
  reply.kind === 'taken' ? undefined : (reply as BodyReply).headers[name];
