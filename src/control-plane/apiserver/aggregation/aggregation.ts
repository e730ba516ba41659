import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { ApiBackend, ApiBackends } from '../../model/api-backends.ts';
import { forward } from '../connect/forward.ts';
import { headersOf } from '../http/http-request.ts';
import type { HeaderMap } from '../http/http-request.ts';
import { textReply } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { Exchange } from '../path/exchange.ts';
import type { AggregationParts } from './aggregation-parts.ts';
import { identityHeaders } from './proxy-headers.ts';

/** The time limit of discovery. Every client requests discovery, so a slow server must not delay it. */
const DISCOVERY_MS = 5000;
const REDIRECTED = 'the backend attempted to redirect this request, which is not permitted';

/**
 * A redirect of a backend, which is rejected: the client's request, with its credentials, would go to an address that
 * the backend chooses.
 */
class Redirected extends Error {}

/**
 * Proxies requests to aggregated servers (upstream: kube-aggregator's proxyHandler): requests to `/apis/GROUP/VERSION`
 * and to its OpenAPI 3 document. Returns undefined for APIs that this server serves itself.
 */
export function createAggregation(parts: AggregationParts): (exchange: Exchange) => Promise<Reply> | undefined {
  return (exchange) => {
    const backend = backendOf(exchange, parts.backends);
    return backend === undefined ? undefined : passOn(exchange, backend, parts);
  };
}

const discoveryPath = /^(?:\/openapi\/v3)?\/apis\/([^/]+)\/([^/]+)\/?$/;

function backendOf({ info, path }: Exchange, backends: ApiBackends): ApiBackend | undefined {
  if (info.resourceRequest) return info.prefix === 'apis' ? backends.find(info.group, info.version) : undefined;
  const [, group, version] = discoveryPath.exec(path) ?? [];
  return group === undefined || version === undefined ? undefined : backends.find(group, version);
}

async function passOn(
  exchange: Exchange,
  backend: ApiBackend,
  { dialer, resolve, serverId, clock }: AggregationParts,
): Promise<Reply> {
  const { http, info, user } = exchange;
  const via = headersOf(http.headers, 'via').join(', ');
  if (via.includes(serverId)) return refuse('service unavailable: the request has come through this server already');
  if (!backend.isAvailable) return refuse('service unavailable');
  const address = resolve(backend);
  if (typeof address === 'string') return refuse('service unavailable');
  try {
    return await forward({
      dialer: { dial: (_, timeoutMs) => dialer(backend, address, timeoutMs) },
      target: { ...address, security: 'tls-insecure' },
      method: http.method,
      path: `${http.target.rawPath}${http.target.search}`,
      headers: withoutVia(http.headers),
      added: {
        ...identityHeaders(user),
        'audit-id': exchange.auditId,
        'x-forwarded-for': [...headersOf(http.headers, 'x-forwarded-for'), http.remoteAddress].join(', '),
        via: via === '' ? `1.1 ${serverId}` : `${via}, 1.1 ${serverId}`,
      },
      http,
      clock,
      ...(!info.resourceRequest && { answerMs: DISCOVERY_MS, wholeMs: DISCOVERY_MS }),
      onAnswer: ({ status, headers }) => {
        if (status >= 300 && status <= 399 && headers.location !== undefined) throw new Redirected();
        return headers;
      },
    });
  } catch (error) {
    if (error instanceof Redirected) return textReply(502, REDIRECTED);
    if (error instanceof ApiStatusError && (error.reason === 'ServiceUnavailable' || error.reason === 'Unknown'))
      return refuse(error.message);
    throw error;
  }
}

const refuse = (why: string): Reply => textReply(503, `${why}\n`);

const withoutVia = ({ via: _, ...headers }: HeaderMap): HeaderMap => headers;
