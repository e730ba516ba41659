import net from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import type { HttpProbeAnswer, HttpProbeRequest, NetDial } from '../../ports/net-dial.ts';
import { connectOnly } from './net-dial-tcp.ts';
import { grpcHealthCheck } from './net-dial-grpc.ts';
import { exchangeFollowing, isRedirect, type ExchangeAnswer, type Header } from './net-dial-http.ts';
import { exchangePlain, plainRequest, type PlainRequest } from './net-dial-plain-http.ts';

/** Of an answer to a probe or a hook (upstream: probe/http). */
const PROBE_BODY_LIMIT_BYTES = 10 * 1024;

/** Connections over node:net, node:http and gRPC. Every deadline is hard: it covers name look-up, connecting, TLS, redirects and the body. */
export const netDial: NetDial = { httpProbe, tcpProbe, grpcProbe, fetch: fetchText };

async function httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer> {
  const { url, plain, timeoutText } = preparedOf(request);
  const startMs = performance.now();
  // Nearly all probes are of this kind, and nearly none is redirected.
  const firstAnswer =
    plain === undefined ? undefined : await exchangePlain(plain, { timeoutMs: request.timeoutMs, timeoutText }, signal);
  if (firstAnswer !== undefined && !isRedirect(firstAnswer.status)) return answerOf(firstAnswer);
  const leftMs = Math.max(1, request.timeoutMs - (performance.now() - startMs));
  return within({ timeoutMs: leftMs, timeoutText, signal }, async (inner) => {
    const { method = 'GET', headers } = request;
    const first = {
      url,
      method,
      headers,
      verifyTls: false,
      body: { limitBytes: PROBE_BODY_LIMIT_BYTES, whenLarger: 'truncate' as const },
    };
    const answer = await exchangeFollowing(first, (from, to) => from.hostname === to.hostname, inner, firstAnswer);
    if (answer.refusedRedirect) return { kind: 'redirect', location: answer.location ?? '', body: answer.body };
    return answerOf(answer);
  });
}

function answerOf({ status, body, broken }: ExchangeAnswer): HttpProbeAnswer {
  return broken === undefined ? { kind: 'answer', status, body } : { kind: 'answer', status, body, broken };
}

interface Prepared {
  url: URL;
  timeoutText: string;
  /** Undefined for what is not a GET over plain HTTP. */
  plain: PlainRequest | undefined;
}

const prepared = new WeakMap<HttpProbeRequest, Prepared>();

function preparedOf(request: HttpProbeRequest): Prepared {
  const known = prepared.get(request);
  if (known !== undefined) return known;
  const url = probeUrl(request);
  const timeoutText = `Get "${url.href}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  const plain =
    request.scheme === 'http' && (request.method ?? 'GET') === 'GET' ? plainRequest(url, request.headers) : undefined;
  const fresh = { url, timeoutText, plain };
  prepared.set(request, fresh);
  return fresh;
}

/** The path may hold a query; a scheme or host hidden in it is overruled, as upstream's formatURL has it. */
function probeUrl({ scheme, host, port, path }: HttpProbeRequest): URL {
  if (host === '') throw new KubeletError('Unavailable', `Get "${scheme}://:${port}${path}": missing host`);
  const base = new URL(`${scheme}://${net.isIPv6(host) ? `[${host}]` : host}:${port}/`);
  // Read as a path even when it begins with two slashes, which would name a host.
  const hostless = path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/^\/\/[^/?#]*/, '');
  const slashed = hostless.startsWith('/') ? hostless : `/${hostless}`;
  const [beforeHash = ''] = slashed.split('#');
  const query = beforeHash.indexOf('?');
  base.pathname = query < 0 ? beforeHash : beforeHash.slice(0, query);
  base.search = query < 0 ? '' : beforeHash.slice(query);
  return base;
}

async function tcpProbe(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  const address = net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
  // node:net takes an empty host for this machine.
  if (host === '') throw new KubeletError('Invalid', `dial tcp ${address}: missing host`);
  return connectOnly({ host, port, address, timeoutMs }, signal);
}

async function grpcProbe(
  host: string,
  port: number,
  service: string,
  timeoutMs: number,
  signal?: AbortSignal,
): ReturnType<NetDial['grpcProbe']> {
  const address = net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
  return grpcHealthCheck({ host, port, address, service, timeoutMs }, signal);
}

async function fetchText(
  url: string,
  headers: readonly Header[],
  limits: { timeoutMs: number; limitBytes: number },
): Promise<{ status: number; body: string }> {
  if (!URL.canParse(url)) throw new KubeletError('Invalid', `"${url}" is not a URL`);
  const timeoutText = `Get "${url}": context deadline exceeded`;
  return within({ timeoutMs: limits.timeoutMs, timeoutText }, async (inner) => {
    const first = {
      url: new URL(url),
      method: 'GET',
      headers,
      verifyTls: true,
      body: { limitBytes: limits.limitBytes, whenLarger: 'fail' as const },
    };
    const { status, body } = await exchangeFollowing(first, () => true, inner);
    return { status, body };
  });
}

interface Limit {
  timeoutMs: number;
  timeoutText: string;
  signal?: AbortSignal | undefined;
}

/** Runs `work` with a signal that aborts, with the error to reject with as its reason, at the deadline or with the caller's signal. */
async function within<T>(
  { timeoutMs, timeoutText, signal }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new KubeletError('Aborted', 'the connection was aborted'));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new KubeletError('Timeout', timeoutText)),
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
