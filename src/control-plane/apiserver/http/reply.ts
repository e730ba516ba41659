import type { Duplex } from 'node:stream';
import { KubeletError } from '../../../base/errors.ts';
import { ApiStatusError, internalError } from '../../../api/status/api-status-error.ts';

export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** What is to be answered. Only the transport knows how that is written. */
export type Reply = BodyReply | StreamReply | TakenReply;

export interface BodyReply {
  readonly kind: 'body';
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** A list is sent piece by piece, without a copy of the whole. */
  readonly body: string | Uint8Array | readonly Uint8Array[];
}

/** An answer whose end is not known yet: watches, logs. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Called once, after the head was sent. */
  readonly start: (out: ReplyStream) => void;
}

/** The connection speaks something else from now on; `take` answers the upgrade itself. */
export interface TakenReply {
  readonly kind: 'taken';
  readonly status: number;
  readonly take: (socket: Duplex, head: Buffer) => void;
}

export interface ReplyStream {
  /** False: more than the peer takes for now; `onDrain` tells when it is less. */
  write(chunk: Uint8Array | string): boolean;
  onDrain(listener: () => void): void;
  /** Called once, when the peer or `end` or `destroy` closed it. */
  onClose(listener: () => void): void;
  end(): void;
  /** Cuts the connection, so that the peer sees that something is missing. */
  destroy(): void;
}

export function bytesOf(body: BodyReply['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.length;
  return body.reduce((sum, piece) => sum + piece.length, 0);
}

const JSON_TYPE = 'application/json';

export const jsonReply = (status: number, body: string): BodyReply => ({
  kind: 'body',
  status,
  headers: { 'content-type': JSON_TYPE },
  body,
});

export const textReply = (status: number, body: string): BodyReply => ({
  kind: 'body',
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body,
});

/**
 * The API's answer to whatever was thrown. What the server needs and does not have now (its store) is said so; the rest
 * is an internal error.
 */
export function statusOf(error: unknown): ApiStatusError {
  if (error instanceof ApiStatusError) return error;
  if (!(error instanceof KubeletError)) return internalError(error);
  switch (error.kind) {
    case 'Unavailable':
    case 'Aborted':
      // Without Retry-After: clients would repeat a write with an unknown outcome.
      return new ApiStatusError('ServiceUnavailable', error.message);
    case 'Timeout':
      return new ApiStatusError('Timeout', `Timeout: ${error.message}`);
    case 'NotFound':
    case 'AlreadyExists':
    case 'Conflict':
    case 'Invalid':
    case 'Unimplemented':
    case 'Internal':
      return internalError(error);
  }
}

export function statusReply(error: ApiStatusError): BodyReply {
  const reply = jsonReply(error.code, `${JSON.stringify(error.toStatus())}\n`);
  const seconds = error.details?.retryAfterSeconds;
  return seconds === undefined ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': String(seconds) } };
}

export function withHeaders<R extends Reply>(reply: R, headers: ReplyHeaders): R {
  return reply.kind === 'taken' ? reply : { ...reply, headers: { ...reply.headers, ...headers } };
}
