import { Buffer } from 'node:buffer';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import { shownUrl } from '../../../base/shown-url.ts';
import type { HttpProbeAnswer, HttpProbeRequest, NetDial } from '../net-dial.ts';

export type GrpcHealth = Awaited<ReturnType<NetDial['grpcProbe']>>;

/** The server at one `host:port`. An undefined part refuses; a promise that never settles hangs. */
export interface FakeListener {
  readonly http?: (request: HttpProbeRequest) => HttpProbeAnswer | Promise<HttpProbeAnswer>;
  readonly tcp?: () => void | Promise<void>;
  readonly grpc?: (service: string) => GrpcHealth | Promise<GrpcHealth>;
}

export const answer = (status: number, body = ''): HttpProbeAnswer => ({ kind: 'answer', status, body });
export const hang = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * A network in memory: listeners by `host:port`, and pages by URL. Other connections are refused. Deadlines use the
 * given clock.
 */
export class FakeNetDial implements NetDial {
  /**
   * Every call in order: `http GET http://10.0.0.1:80/path`, `tcp 10.0.0.1:80`, `grpc 10.0.0.1:80 service`, `fetch
   * url`.
   */
  readonly calls: string[] = [];
  readonly requests: HttpProbeRequest[] = [];
  readonly #clock: Clock;
  readonly #listeners = new Map<string, FakeListener>();
  readonly #pages = new Map<
    string,
    () => { status: number; body: string } | Promise<{ status: number; body: string }>
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces the server there. */
  listen(hostPort: string, listener: FakeListener): void {
    this.#listeners.set(hostPort, listener);
  }

  close(hostPort: string): void {
    this.#listeners.delete(hostPort);
  }

  /** Sets the response of `fetch` for this URL; undefined for a refused connection. */
  page(
    url: string,
    give: (() => { status: number; body: string } | Promise<{ status: number; body: string }>) | undefined,
  ): void {
    if (give === undefined) this.#pages.delete(url);
    else this.#pages.set(url, give);
  }

  async httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer> {
    const where = `${request.host}:${request.port}`;
    const url = `${request.scheme}://${where}${request.path}`;
    this.calls.push(`http ${request.method ?? 'GET'} ${url}`);
    this.requests.push(request);
    return this.#within(
      request.timeoutMs,
      `Get "${url}"`,
      async () => {
        const http = this.#listeners.get(where)?.http;
        if (http === undefined) throw refused(`Get "${url}": `, where);
        return http(request);
      },
      signal,
    );
  }

  async tcpProbe(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const where = `${host}:${port}`;
    this.calls.push(`tcp ${where}`);
    return this.#within(
      timeoutMs,
      `dial tcp ${where}`,
      async () => {
        const tcp = this.#listeners.get(where)?.tcp;
        if (tcp === undefined) throw refused('', where);
        return tcp();
      },
      signal,
    );
  }

  async grpcProbe(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<GrpcHealth> {
    const where = `${host}:${port}`;
    this.calls.push(`grpc ${where} ${service}`);
    return this.#within(
      timeoutMs,
      `grpc ${where}`,
      async () => {
        const grpc = this.#listeners.get(where)?.grpc;
        if (grpc === undefined) throw refused('', where);
        return grpc(service);
      },
      signal,
    );
  }

  async fetch(
    url: string,
    _headers: readonly { name: string; value: string }[],
    limits: { timeoutMs: number; limitBytes: number },
  ): Promise<{ status: number; body: string }> {
    this.calls.push(`fetch ${url}`);
    return this.#within(limits.timeoutMs, `Get "${shownUrl(url)}"`, async () => {
      const page = this.#pages.get(url);
      if (page === undefined) throw refused(`Get "${shownUrl(url)}": `, new URL(url).host);
      const given = await page();
      if (Buffer.byteLength(given.body) > limits.limitBytes)
        throw new KubeletError('Invalid', `Get "${shownUrl(url)}": the body is larger than ${limits.limitBytes} bytes`);
      return given;
    });
  }

  #within<T>(limitMs: number, op: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return withDeadline({ clock: this.#clock, limitMs, op, signal }, work);
  }
}

function refused(prefix: string, where: string): KubeletError {
  return new KubeletError('Unavailable', `${prefix}dial tcp ${where}: connect: connection refused`);
}
