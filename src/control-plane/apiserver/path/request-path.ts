import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { forbiddenRequest } from '../../model/forbidden-request.ts';
import type { Authorizer } from '../../model/user-info.ts';
import { headerOf } from '../http/http-request.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { statusOf, statusReply, textReply, withHeaders } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { invalidTimeout } from '../verbs/write-options.ts';
import { authenticate } from './authenticate.ts';
import type { Authentication } from './authenticate.ts';
import { attributesOf, authorize } from './authorize.ts';
import { anonymousUser } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { authorizeImpersonation, readImpersonation } from './impersonate.ts';
import { isLongRunning, parseRequestInfo } from './request-info.ts';
import { Seats } from './seats.ts';
import { warningHeaders } from './warning-headers.ts';

/** What may let a request wait or send it away (429). `release` is called once when the request is over. */
export interface RequestLimiter {
  admit(exchange: Exchange): Admitted | Promise<Admitted>;
}
export type Admitted =
  | { readonly admitted: true; readonly release: () => void }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

/** Hears of each request: audit log and metrics. */
export interface RequestObserver {
  /** Who asks is known. */
  begin?(exchange: Exchange): void;
  /** The head of a long answer goes out. */
  started?(exchange: Exchange, status: number): void;
  /** The answer is sent, or the connection is gone. */
  done(exchange: Exchange, reply: Reply): void;
}

export interface RequestPathParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly requestTimeoutMs: number;
  readonly authentication: Authentication;
  readonly authorizer: Authorizer;
  readonly limiters: readonly RequestLimiter[];
  readonly observers: readonly RequestObserver[];
  readonly dispatch: (exchange: Exchange) => Promise<Reply>;
}

/** The way of a request through the server. Always answers; whatever is thrown on the way becomes a Status. */
export function createRequestPath(parts: RequestPathParts): (http: HttpRequest) => Promise<Reply> {
  return async (http) => {
    let exchange: Exchange;
    try {
      exchange = newExchange(http, parts);
    } catch (error) {
      return statusReply(statusOf(error));
    }
    let reply: Reply;
    const seats = new Seats();
    http.onFinished(() => seats.answerOut());
    try {
      reply = isLongRunning(exchange.info)
        ? await serve(exchange, parts, seats)
        : await serveInTime(exchange, parts, seats);
    } catch (error) {
      reply = statusReply(refusalOf(error, exchange, parts.log));
    }
    const headers: Record<string, string | readonly string[]> = {
      'audit-id': exchange.auditId,
      'cache-control': 'no-cache, private',
      ...exchange.headers,
    };
    if (exchange.warnings.length > 0) headers.warning = warningHeaders(exchange.warnings);
    const answer = reply.kind === 'taken' ? reply : { ...reply, headers: { ...headers, ...reply.headers } };
    for (const observer of parts.observers) if (answer.kind !== 'body') observer.started?.(exchange, answer.status);
    http.onFinished(() => {
      for (const observer of parts.observers) observer.done(exchange, answer);
    });
    return answer;
  };
}

function newExchange(http: HttpRequest, { clock, random }: RequestPathParts): Exchange {
  const at = http.target.indexOf('?');
  const path = decodePath(at < 0 ? http.target : http.target.slice(0, at));
  const query = new URLSearchParams(at < 0 ? '' : http.target.slice(at));
  const info = parseRequestInfo(http.method, path, query);
  if (info === undefined)
    throw new ApiStatusError(
      'InternalError',
      `Internal error occurred: failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`,
    );
  return {
    http,
    path,
    query,
    info,
    auditId: auditIdOf(http) ?? random.uuid(),
    receivedAtMs: clock.nowMs(),
    startedAtMs: clock.monotonicMs(),
    user: anonymousUser,
    headers: {},
    warnings: [],
    annotations: {},
  };
}

function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(path.slice(0, 256))}`);
  }
}

/** A proxy in front may have given the request its id. Longer ones are none of upstream's either. */
function auditIdOf({ headers }: HttpRequest): string | undefined {
  const given = headerOf(headers, 'audit-id');
  return given !== undefined && given !== '' && given.length <= 64 && /^[\w.:@/-]+$/.test(given) ? given : undefined;
}

async function serve(exchange: Exchange, parts: RequestPathParts, seats: Seats): Promise<Reply> {
  try {
    return await serveSeated(exchange, parts, seats);
  } finally {
    seats.workDone();
  }
}

async function serveSeated(exchange: Exchange, parts: RequestPathParts, seats: Seats): Promise<Reply> {
  const outcome = await authenticate(exchange.http, parts.authentication);
  if ('refused' in outcome) {
    if (outcome.errors.length > 0) parts.log.warn('Unable to authenticate the request', { errors: outcome.errors });
    for (const observer of parts.observers) observer.begin?.(exchange);
    throw outcome.refused;
  }
  exchange.user = outcome.user;
  for (const observer of parts.observers) observer.begin?.(exchange);
  await impersonate(exchange, parts.authorizer);
  for (const limiter of parts.limiters) {
    const admitting = limiter.admit(exchange);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    if (!admitted.admitted)
      return withHeaders(textReply(429, 'Too many requests, please try again later.\n'), {
        'retry-after': String(admitted.retryAfterSeconds),
      });
    seats.take(admitted.release);
  }
  const attributes = attributesOf(exchange.user, exchange.info);
  const decided = await authorize(parts.authorizer, attributes);
  const isAllowed = decided.decision === 'allow';
  exchange.annotations['authorization.k8s.io/decision'] = isAllowed ? 'allow' : 'forbid';
  exchange.annotations['authorization.k8s.io/reason'] = decided.reason;
  if (!isAllowed) throw forbiddenRequest(attributes, decided);
  return parts.dispatch(exchange);
}

async function impersonate(exchange: Exchange, authorizer: Authorizer): Promise<void> {
  const impersonation = readImpersonation(exchange.http.headers);
  if (impersonation === undefined) return;
  await authorizeImpersonation(exchange.user, impersonation, authorizer);
  exchange.impersonator = exchange.user;
  exchange.user = impersonation.user;
}

/** The server's limit, or the client's own `?timeout=` when that is shorter. */
function timeoutOf(query: URLSearchParams, requestTimeoutMs: number): number {
  const asked = query.get('timeout');
  if (asked === null || asked === '') return requestTimeoutMs;
  const ms = parseDurationMs(asked);
  if (ms === undefined) throw invalidTimeout(asked);
  return ms > 0 && ms < requestTimeoutMs ? ms : requestTimeoutMs;
}

async function serveInTime(exchange: Exchange, parts: RequestPathParts, seats: Seats): Promise<Reply> {
  const timeoutMs = timeoutOf(exchange.query, parts.requestTimeoutMs);
  const late = Promise.withResolvers<never>();
  const timer = parts.clock.setTimer(timeoutMs, () =>
    late.reject(new ApiStatusError('Timeout', 'Timeout: request did not complete within the allotted timeout')),
  );
  try {
    return await Promise.race([serve(exchange, parts, seats), late.promise]);
  } finally {
    timer.cancel();
  }
}

function refusalOf(error: unknown, exchange: Exchange, log: Logger): ApiStatusError {
  const status = statusOf(error);
  if (!(error instanceof ApiStatusError)) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('A request failed by a fault of the server', {
      auditID: exchange.auditId,
      verb: exchange.info.verb,
      path: exchange.path,
      error: message,
    });
  }
  return status;
}
