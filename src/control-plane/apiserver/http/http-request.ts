import type { Duplex, Readable } from 'node:stream';
import type { BodyLength, RequestTarget } from '../../../base/request-head.ts';

/** The headers by name in lower case. A repeated header may be an array. */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A received request, independent of the transport: HTTP/1.1, HTTP/2, or a test. */
export interface HttpRequest {
  readonly method: string;
  /** The parsed target. Authorization and routing use the same value. */
  readonly target: RequestTarget;
  /** The length of the body from the head, in bytes, or `chunked` if it is unknown. */
  readonly bodyLength: BodyLength;
  readonly headers: HeaderMap;
  /** Alternating names and values as sent; in `headers`, repeated lines are joined with a comma. */
  readonly rawHeaders?: readonly string[];
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
  readonly remoteAddress: string;
  /** The connection, which several requests may share. */
  readonly connection: object;
  /**
   * The client certificate, and whether the handshake verified it: issued by the client CA, for client authentication,
   * and valid at that time.
   */
  readonly clientCertificate?: { readonly der: Uint8Array; readonly verified: boolean };
  /**
   * Reads the whole body. Rejects with RequestEntityTooLarge once there is more than `limitBytes`, and with BadRequest
   * when the client disconnects in the middle.
   */
  readBody(limitBytes: number): Promise<Buffer>;
  /** Returns the body as a stream, for forwarding. Use either this or `readBody`. */
  bodyStream(): Readable;
  /** Whether the response was sent completely or the connection was closed. */
  readonly isFinished: boolean;
  /** Calls `listener` when the response was sent completely or the connection was closed. */
  onFinished(listener: () => void): void;
  /** Aborts the response because the client does not read it. */
  cut(): void;
  /** The raw connection, if the client requests an upgrade. */
  readonly upgrade?: UpgradedConnection;
}

export interface UpgradedConnection {
  readonly socket: Duplex;
  /** The bytes that came after the request's head. */
  readonly head: Buffer;
  /** Node's request object, for libraries that need it (ws). */
  readonly native: unknown;
}

/** Returns the first value of a header. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}

/** Returns all values of a header. */
export function headersOf(headers: HeaderMap, name: string): readonly string[] {
  const value = headers[name];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
