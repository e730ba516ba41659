import net from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import { shownUrl } from '../../../base/shown-url.ts';
import type { HttpProbeAnswer, HttpProbeRequest, NetDial } from '../../ports/net-dial.ts';
import { connectOnly } from './net-dial-tcp.ts';
import { grpcHealthCheck } from './net-dial-grpc.ts';
import type { ExchangeAnswer, Header } from './net-dial-http.ts';
import { exchangeFollowing, isRedirect } from './net-dial-http.ts';
import type { PlainRequest } from './net-dial-plain-http.ts';
import { exchangePlain, plainRequest } from './net-dial-plain-http.ts';

/** The size limit of a response to a probe or a hook (upstream: probe/http). */
const PROBE_BODY_LIMIT_BYTES = 10 * 1024;

/**
 * Connects over node:net, node:http and gRPC. Every deadline is strict: it covers name lookup, connecting, TLS,
 * redirects and the body.
 */
export const netDial: NetDial = { httpProbe, tcpProbe, grpcProbe, fetch: fetchText };

async function httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer> {
  const { url, plain, timeoutText } = preparedOf(request);
  const startMs = performance.now();
  // Nearly all probes are of this kind, and almost none is redirected.
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
  readonly url: URL;
  readonly timeoutText: string;
  /** The prepared request; undefined if it is not a GET over plain HTTP. */
  readonly plain: PlainRequest | undefined;
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

/**
 * Builds the URL of a probe. The path may contain a query. A scheme or host hidden in it is ignored, as in upstream's
 * formatURL.
 */
function probeUrl({ scheme, host, port, path }: HttpProbeRequest): URL {
  if (host === '') throw new KubeletError('Unavailable', `Get "${scheme}://:${port}${path}": missing host`);
  const base = new URL(`${scheme}://${net.isIPv6(host) ? `[${host}]` : host}:${port}/`);
  // The text is parsed as a path even if it begins with two slashes, which would otherwise name a host.
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
  // node:net treats an empty host as this machine.
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
  const target = new URL(url);
  const shown = `Get "${shownUrl(url)}"`;
  if (target.protocol !== 'http:' && target.protocol !== 'https:')
    throw new KubeletError('Invalid', `${shown}: unsupported protocol scheme "${target.protocol.replace(':', '')}"`);
  const timeoutText = `${shown}: context deadline exceeded`;
  return within({ timeoutMs: limits.timeoutMs, timeoutText }, async (inner) => {
    const first = {
      url: target,
      method: 'GET',
      headers: [...credentialsOf(target), ...headers],
      verifyTls: true,
      body: { limitBytes: limits.limitBytes, whenLarger: 'fail' as const },
      secretHeaders: true,
    };
    // A redirect from TLS to plain text is not followed, because an attacker on the network path could control what
    // runs here.
    const { status, body, refusedRedirect } = await exchangeFollowing(
      first,
      (from, to) => from.protocol !== 'https:' || to.protocol === 'https:',
      inner,
    );
    if (refusedRedirect) throw new KubeletError('Unavailable', `${shown}: a redirect to plain HTTP is not followed`);
    return { status, body };
  });
}

/** Returns the credentials in the URL as a header, as Go's client sends them. */
function credentialsOf({ username, password }: URL): Header[] {
  if (username === '' && password === '') return [];
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [{ name: 'Authorization', value: `Basic ${Buffer.from(pair).toString('base64')}` }];
}

interface Limit {
  readonly timeoutMs: number;
  readonly timeoutText: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` with a signal that aborts at the deadline or with the caller's signal. The signal's reason is the error.
 */
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
