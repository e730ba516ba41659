import type { Duplex, Readable } from 'node:stream';
import type { BodyLength, RequestTarget } from '../../../base/request-head.ts';

/** Header names are in small letters; a header sent several times may be a list. */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request as it came off the wire, whatever wire that was: HTTP/1.1, HTTP/2, or a test. */
export interface HttpRequest {
  readonly method: string;
  /** Parsed once: what is judged and what is served follow from it. */
  readonly target: RequestTarget;
  /** As the head says: in bytes, or `chunked` when only the end tells. */
  readonly bodyLength: BodyLength;
  readonly headers: HeaderMap;
  /** Names and values in turn, as they were sent: in `headers` lines of one name are joined by a comma. */
  readonly rawHeaders?: readonly string[];
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
  readonly remoteAddress: string;
  /** What the request shares with others that came the same way. */
  readonly connection: object;
  /**
   * What the client showed in the TLS handshake, and whether the handshake found it to be of the client CA, meant for
   * clients, and valid at that time.
   */
  readonly clientCertificate?: { readonly der: Uint8Array; readonly verified: boolean };
  /**
   * The whole body. Rejects with RequestEntityTooLarge once there is more than `limitBytes`, and BadRequest when the
   * client went away in the middle.
   */
  readBody(limitBytes: number): Promise<Buffer>;
  /** The body for who passes it on. Either this or `readBody`. */
  bodyStream(): Readable;
  /** Whether the answer is sent wholly or the connection is gone. */
  readonly isFinished: boolean;
  /** Calls `listener` once the answer is sent wholly or the connection is gone. */
  onFinished(listener: () => void): void;
  /** Ends the answer where it is, because its client does not read it. */
  cut(): void;
  /** The connection itself, when the client asks to speak something else on it. */
  readonly upgrade?: UpgradedConnection;
}

export interface UpgradedConnection {
  readonly socket: Duplex;
  /** Bytes that came after the request's head. */
  readonly head: Buffer;
  /** Node's own request, for libraries that want one (ws). */
  readonly native: unknown;
}

/** The first value of a header. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}

/** All values of a header. */
export function headersOf(headers: HeaderMap, name: string): readonly string[] {
  const value = headers[name];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
