import type { Duplex } from 'node:stream';
import { KubeletError } from '../../../base/errors.ts';
import { ApiStatusError, internalError } from '../../../api/status/api-status-error.ts';

export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A response. Only the transport knows how it is written. */
export type Reply = BodyReply | StreamReply | TakenReply;

export interface BodyReply {
  readonly kind: 'body';
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The body. A list is sent in pieces, without a copy of the whole. */
  readonly body: string | Uint8Array | readonly Uint8Array[];
}

/** A response of unknown length: watches, logs. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Called once, after the head was sent. */
  readonly start: (out: ReplyStream) => void;
}

/** The connection switches protocols; `take` answers the upgrade. */
export interface TakenReply {
  readonly kind: 'taken';
  readonly status: number;
  readonly take: (socket: Duplex, head: Buffer) => void;
}

export interface ReplyStream {
  /** Writes a chunk. Returns false if the write buffer is full; `onDrain` is called when it has drained. */
  write(chunk: Uint8Array | string): boolean;
  onDrain(listener: () => void): void;
  /** Adds a listener. It is called once when the peer, `end` or `destroy` has closed the connection. */
  onClose(listener: () => void): void;
  end(): void;
  /** Aborts the connection, so that the peer notices that data is missing. */
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

/** Converts a thrown error to a Status. An unavailable store has its own status; unknown errors are internal errors. */
export function statusOf(error: unknown): ApiStatusError {
  if (error instanceof ApiStatusError) return error;
  if (!(error instanceof KubeletError)) return internalError(error);
  switch (error.kind) {
    case 'Unavailable':
    case 'Aborted':
      // There is no Retry-After, because clients would repeat a write with an unknown outcome.
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
