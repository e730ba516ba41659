import net from 'node:net';
import { KubeletError } from '../../base/errors.ts';
import type { HttpProbeAnswer, HttpProbeRequest, NetDial } from '../ports/net-dial.ts';
import { dialError } from './net-dial-errors.ts';
import { grpcHealthCheck } from './net-dial-grpc.ts';
import { exchangeFollowing, type Header } from './net-dial-http.ts';

/** Of an answer to a probe or a hook (upstream: probe/http). */
const PROBE_BODY_LIMIT_BYTES = 10 * 1024;

/** Connections over node:net, node:http and gRPC. Every deadline is hard: it covers name look-up, connecting, TLS, redirects and the body. */
export const netDial: NetDial = { httpProbe, tcpProbe, grpcProbe, fetch: fetchText };

async function httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer> {
  const url = probeUrl(request);
  const timeoutText = `Get "${url.href}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  return within({ timeoutMs: request.timeoutMs, timeoutText, signal }, async (inner) => {
    const { method = 'GET', headers } = request;
    const first = { url, method, headers, verifyTls: false, body: { limitBytes: PROBE_BODY_LIMIT_BYTES, whenLarger: 'truncate' as const } };
    const answer = await exchangeFollowing(first, (from, to) => from.hostname === to.hostname, inner);
    if (answer.refusedRedirect) return { kind: 'redirect', location: answer.location ?? '', body: answer.body };
    return { kind: 'answer', status: answer.status, body: answer.body };
  });
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
  return within({ timeoutMs, timeoutText: `dial tcp ${address}: i/o timeout`, signal }, (inner) => {
    const socket = net.connect({ host, port });
    return new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(inner.reason as Error);
      socket.once('connect', resolve);
      socket.once('error', (error) => reject(dialError(error, 'probe', address)));
      inner.addEventListener('abort', abort, { once: true });
    }).finally(() => socket.destroy());
  });
}

async function grpcProbe(host: string, port: number, service: string, timeoutMs: number, signal?: AbortSignal): ReturnType<NetDial['grpcProbe']> {
  const address = net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
  return grpcHealthCheck({ address, service, timeoutMs }, signal);
}

async function fetchText(url: string, headers: readonly Header[], limits: { timeoutMs: number; limitBytes: number }): Promise<{ status: number; body: string }> {
  if (!URL.canParse(url)) throw new KubeletError('Invalid', `"${url}" is not a URL`);
  const timeoutText = `Get "${url}": context deadline exceeded`;
  return within({ timeoutMs: limits.timeoutMs, timeoutText }, async (inner) => {
    const first = { url: new URL(url), method: 'GET', headers, verifyTls: true, body: { limitBytes: limits.limitBytes, whenLarger: 'fail' as const } };
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
async function within<T>({ timeoutMs, timeoutText, signal }: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new KubeletError('Aborted', 'the connection was aborted'));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => controller.abort(new KubeletError('Timeout', timeoutText)), Math.min(timeoutMs, 2 ** 31 - 1));
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
