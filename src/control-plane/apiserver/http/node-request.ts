import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { formatIp, parseIp, unmapped } from '../../../base/ip-address.ts';
import type { BodyLength, RequestHead, RequestTarget } from '../../../base/request-head.ts';
import type { HeaderMap, HttpRequest, UpgradedConnection } from './http-request.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

export interface RequestParts {
  readonly clock: Clock;
  /** Aborts the response. */
  readonly cut: () => void;
}

/** A request of Node's HTTP servers, of either version. */
export class NodeHttpRequest implements HttpRequest {
  readonly method: string;
  readonly target: RequestTarget;
  readonly bodyLength: BodyLength;
  readonly headers: HeaderMap;
  readonly protocol: HttpRequest['protocol'];
  readonly remoteAddress: string;
  readonly connection: object;
  readonly clientCertificate?: ClientCertificate;
  readonly upgrade?: UpgradedConnection;
  readonly cut: () => void;
  readonly #native: NodeRequest;
  readonly #clock: Clock;
  /** The remote address of the connection. */
  readonly peer: { readonly remoteAddress: string; readonly remotePort: number };
  readonly #listeners: (() => void)[] = [];
  #isFinished = false;

  constructor(
    native: NodeRequest,
    { method, target, body }: RequestHead,
    { clock, cut }: RequestParts,
    upgrade?: { readonly socket: Duplex; readonly head: Buffer },
  ) {
    this.#native = native;
    this.#clock = clock;
    this.cut = cut;
    this.method = method;
    this.target = target;
    this.bodyLength = body;
    this.headers = native.headers;
    this.protocol =
      native.httpVersionMajor === 2 ? 'HTTP/2.0' : native.httpVersionMinor === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
    const socket = socketOf(native);
    // Without a socket the connection is closed, so no other request shares it.
    this.connection = socket ?? this;
    this.peer = { remoteAddress: socket?.remoteAddress ?? '', remotePort: socket?.remotePort ?? 0 };
    this.remoteAddress = plainAddress(this.peer.remoteAddress);
    const certificate = socket === undefined ? undefined : clientCertificateOf(socket);
    if (certificate !== undefined) this.clientCertificate = certificate;
    if (upgrade !== undefined) this.upgrade = { ...upgrade, native };
  }

  readBody(limitBytes: number): Promise<Buffer> {
    if (this.bodyLength !== 'chunked' && this.bodyLength > limitBytes) {
      this.#native.resume();
      return Promise.reject(tooLarge(limitBytes));
    }
    return collect(this.#native, { length: this.bodyLength, limitBytes, clock: this.#clock });
  }

  get rawHeaders(): readonly string[] {
    return this.#native.rawHeaders;
  }

  bodyStream(): Readable {
    return this.#native;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  onFinished(listener: () => void): void {
    if (this.#isFinished) listener();
    else this.#listeners.push(listener);
  }

  /** Called by the transport when the response was sent or the client has disconnected. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

const tooLarge = (limitBytes: number): ApiStatusError =>
  new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

/** The time limit for receiving a body; it grows with the number of received bytes. */
const BODY_MS = 15_000;
const BODY_BYTES_PER_SECOND = 16 * 1024;

function collect(
  native: NodeRequest,
  { length, limitBytes, clock }: { readonly length: BodyLength; readonly limitBytes: number; readonly clock: Clock },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const beganMs = clock.monotonicMs();
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isOver = false;
    const settle = (how: () => void): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      how();
      chunks.length = 0;
    };
    const leftMs = (): number => beganMs + BODY_MS + (bytes / BODY_BYTES_PER_SECOND) * 1000 - clock.monotonicMs();
    const look = (): void => {
      if (leftMs() > 0) timer = clock.setTimer(leftMs(), look);
      else settle(() => reject(new ApiStatusError('Timeout', 'Timeout: the body of the request came too slowly')));
    };
    let timer = clock.setTimer(BODY_MS, look);
    native.on('data', (chunk: Buffer) => {
      if (isOver) return;
      bytes += chunk.length;
      if (bytes > limitBytes) settle(() => reject(tooLarge(limitBytes)));
      else chunks.push(chunk);
    });
    const refuse = (): void => settle(() => reject(badRequest('the body is shorter than its Content-Length')));
    const isWhole = (): boolean => length === 'chunked' || bytes === length;
    // An HTTP/2 stream that ends early fires the same event.
    native.on('end', () =>
      isWhole()
        ? settle(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
        : refuse(),
    );
    native.on('error', refuse);
    native.on('close', () =>
      settle(() => reject(badRequest('the client closed the connection before its request was complete'))),
    );
  });
}

/** Converts an address. A socket of both families shows IPv4 addresses as IPv6 ones. */
function plainAddress(text: string): string {
  const bytes = parseIp(text);
  return bytes === undefined ? text : formatIp(unmapped(bytes));
}

function socketOf(native: NodeRequest): TLSSocket | undefined {
  // For HTTP/2 the stream's session has the socket. The request's own socket is a proxy that rejects most calls.
  const socket = 'stream' in native ? native.stream.session?.socket : native.socket;
  return socket as TLSSocket | undefined;
}

type ClientCertificate = NonNullable<HttpRequest['clientCertificate']>;

/** The client certificates, read once per connection, because they do not change after the handshake. */
const certificates = new WeakMap<object, ClientCertificate | null>();

function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const known = certificates.get(socket);
  if (known !== undefined) return known ?? undefined;
  const raw = typeof socket.getPeerX509Certificate === 'function' ? socket.getPeerX509Certificate()?.raw : undefined;
  const certificate = raw === undefined ? undefined : { der: raw, verified: socket.authorized };
  certificates.set(socket, certificate ?? null);
  return certificate;
}
