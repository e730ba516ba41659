import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import type { HeaderMap, HttpRequest, UpgradedConnection } from './http-request.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** A request of Node's HTTP servers, of either version. */
export class NodeHttpRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderMap;
  readonly protocol: HttpRequest['protocol'];
  readonly remoteAddress: string;
  readonly clientCertificate?: ClientCertificate;
  readonly upgrade?: UpgradedConnection;
  readonly #native: NodeRequest;
  readonly #listeners: (() => void)[] = [];
  #isFinished = false;

  constructor(native: NodeRequest, upgrade?: { readonly socket: Duplex; readonly head: Buffer }) {
    this.#native = native;
    this.method = native.method ?? 'GET';
    this.target = pathAndQuery(native.url ?? '/');
    this.headers = native.headers;
    this.protocol =
      native.httpVersionMajor === 2 ? 'HTTP/2.0' : native.httpVersionMinor === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
    const socket = socketOf(native);
    this.remoteAddress = (socket?.remoteAddress ?? '').replace(/^::ffff:/, '');
    const certificate = socket === undefined ? undefined : clientCertificateOf(socket);
    if (certificate !== undefined) this.clientCertificate = certificate;
    if (upgrade !== undefined) this.upgrade = { ...upgrade, native };
  }

  readBody(limitBytes: number): Promise<Buffer> {
    const declared = Number(this.#native.headers['content-length'] ?? Number.NaN);
    if (declared > limitBytes) {
      this.#native.resume();
      return Promise.reject(tooLarge(limitBytes));
    }
    return collect(this.#native, limitBytes);
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

  /** For the transport: the answer is out, or nobody is there for it. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

const tooLarge = (limitBytes: number): ApiStatusError =>
  new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

function collect(native: NodeRequest, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    native.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limitBytes) {
        chunks.length = 0;
        reject(tooLarge(limitBytes));
      } else chunks.push(chunk);
    });
    native.on('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    native.on('error', () => reject(badRequest('the client sent less than it had announced')));
    native.on('close', () => {
      if (!native.readableEnded) reject(badRequest('the client went away in the middle of its request'));
    });
  });
}

/** Clients of proxies send whole URLs. */
function pathAndQuery(url: string): string {
  if (url.startsWith('/')) return url;
  const whole = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1];
  return whole === undefined || !whole.startsWith('/') ? `/${whole ?? ''}` : whole;
}

function socketOf(native: NodeRequest): TLSSocket | undefined {
  // For HTTP/2 the stream's session has the socket; the request's own is a guard that refuses most calls.
  const socket = 'stream' in native ? native.stream.session?.socket : native.socket;
  return socket as TLSSocket | undefined;
}

type ClientCertificate = NonNullable<HttpRequest['clientCertificate']>;

/** Asked once for each connection: what the client showed in its handshake stays the same. */
const certificates = new WeakMap<object, ClientCertificate | null>();

function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const known = certificates.get(socket);
  if (known !== undefined) return known ?? undefined;
  const raw = typeof socket.getPeerX509Certificate === 'function' ? socket.getPeerX509Certificate()?.raw : undefined;
  const certificate = raw === undefined ? undefined : { der: raw, verified: socket.authorized };
  certificates.set(socket, certificate ?? null);
  return certificate;
}
