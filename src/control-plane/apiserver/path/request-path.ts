import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { forbiddenRequest } from '../../model/forbidden-request.ts';
import type { Authorizer } from '../../model/user-info.ts';
import { headerOf } from '../http/http-request.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { bytesOf, statusOf, statusReply, textReply, withHeaders } from '../http/reply.ts';
import type { BodyReply, Reply } from '../http/reply.ts';
import { statusMessage } from '../output/messages.ts';
import { prefersProtobuf } from '../output/negotiate.ts';
import type { UnreadAnswers } from '../limits/unread-answers.ts';
import { invalidTimeout } from '../verbs/write-options.ts';
import { authenticate } from './authenticate.ts';
import type { Authentication } from './authenticate.ts';
import { attributesOf, authorize } from './authorize.ts';
import { anonymousUser } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { authorizeImpersonation, readImpersonation } from './impersonate.ts';
import { isLongRunning, isReading, meaningfulParts, parseRequestInfo } from './request-info.ts';
import { cutPath, requirePlainParts, splitPath } from './split-path.ts';
import { warningHeaders } from './warning-headers.ts';

/** May delay a request or reject it with 429. `release` is called once when the work of the request is done. */
export interface RequestLimiter {
  admit(exchange: Exchange): Admitted | Promise<Admitted>;
}
export type Admitted =
  | { readonly admitted: true; readonly release: () => void }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

/** Observes each request, for the audit log and metrics. */
export interface RequestObserver {
  /** Called when the user is known. */
  begin?(exchange: Exchange): void;
  /** Called when the head of a streaming response was sent. */
  started?(exchange: Exchange, status: number): void;
  /** Called when the response was aborted because the client did not read it. `done` follows. */
  aborted?(exchange: Exchange): void;
  /** Called when the response was sent, or the connection was closed. */
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
  readonly unread: UnreadAnswers;
  readonly dispatch: (exchange: Exchange) => Promise<Reply>;
}

/**
 * Creates the path of a request through the server. It always returns a response; every thrown error becomes a Status.
 */
export function createRequestPath(parts: RequestPathParts): (http: HttpRequest) => Promise<Reply> {
  return async (http) => {
    let exchange: Exchange;
    try {
      exchange = newExchange(http, parts);
    } catch (error) {
      return heldUntilRead(http, anonymousUser.name, statusReply(statusOf(error)), parts.unread);
    }
    let reply: Reply;
    try {
      reply = inRoom(
        isLongRunning(exchange.info) ? await serve(exchange, parts) : await serveInTime(exchange, parts),
        exchange,
        parts.unread,
      );
    } catch (error) {
      reply = refusalReply(http, refusalOf(error, exchange, parts.log));
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
    return heldUntilRead(http, exchange.user.name, answer, parts.unread, () => {
      for (const observer of parts.observers) observer.aborted?.(exchange);
    });
  };
}

/**
 * Builds a Status in the client's encoding. If no encoding is acceptable, the error is sent as JSON, as in upstream.
 */
function refusalReply({ headers }: HttpRequest, error: ApiStatusError): BodyReply {
  const reply = statusReply(error);
  if (error.reason === 'NotAcceptable' || !prefersProtobuf(headerOf(headers, 'accept'))) return reply;
  return {
    ...reply,
    headers: { ...reply.headers, 'content-type': PROTOBUF_CONTENT_TYPE },
    body: statusMessage(error.toStatus()),
  };
}

const tooMany = (retryAfterSeconds: number): Reply =>
  withHeaders(textReply(429, 'Too many requests, please try again later.\n'), {
    'retry-after': String(retryAfterSeconds),
  });

/** Rejects a read with 429 if there is no room for its response. Clients repeat such requests automatically. */
function inRoom(reply: Reply, { http, info, user }: Exchange, unread: UnreadAnswers): Reply {
  if (reply.kind !== 'body' || !isReading(info) || http.isFinished) return reply;
  return unread.hasRoom({ connection: http.connection, user: user.name, bytes: bytesOf(reply.body) })
    ? reply
    : tooMany(1);
}

/** Counts the response as memory held by the client. From here on only the client's reading takes time. */
function heldUntilRead(
  http: HttpRequest,
  user: string,
  reply: Reply,
  unread: UnreadAnswers,
  aborted?: () => void,
): Reply {
  if (reply.kind !== 'body' || http.isFinished) return reply;
  const cut = (): void => {
    aborted?.();
    http.cut();
  };
  const held = unread.hold({ connection: http.connection, user, bytes: bytesOf(reply.body), cut });
  http.onFinished(() => held.end());
  return reply;
}

function newExchange(http: HttpRequest, { clock, random }: RequestPathParts): Exchange {
  const { rawPath, search } = http.target;
  const path = splitPath(rawPath);
  const query = new URLSearchParams(search);
  const info = parseRequestInfo(http.method, path, query);
  if (info === undefined)
    throw new ApiStatusError(
      'InternalError',
      `Internal error occurred: failed to create RequestInfo: unable to determine kind and namespace from url, ${path.text}`,
    );
  const count = meaningfulParts(path, info);
  requirePlainParts(path, count);
  return {
    http,
    path: path.text,
    query,
    proxied: cutPath(path, count),
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

/** Returns the audit ID, which a proxy may have set. Longer IDs are ignored, as in upstream. */
function auditIdOf({ headers }: HttpRequest): string | undefined {
  const given = headerOf(headers, 'audit-id');
  return given !== undefined && given !== '' && given.length <= 64 && /^[\w.:@/-]+$/.test(given) ? given : undefined;
}

/**
 * Serves a request. Its seats are released when its work is done: not earlier, even if the client has disconnected
 * (CVE-2023-44487, HTTP/2 rapid reset), and not later, even if the client does not read the response.
 */
async function serve(exchange: Exchange, parts: RequestPathParts): Promise<Reply> {
  const releases: (() => void)[] = [];
  try {
    return await serveSeated(exchange, parts, (release) => releases.push(release));
  } finally {
    for (const release of releases) release();
  }
}

async function serveSeated(
  exchange: Exchange,
  parts: RequestPathParts,
  takeSeat: (release: () => void) => void,
): Promise<Reply> {
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
    if (!admitted.admitted) return tooMany(admitted.retryAfterSeconds);
    takeSeat(admitted.release);
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

/** Returns the server's time limit, or the client's `?timeout=` if that is shorter. */
function timeoutOf(query: URLSearchParams, requestTimeoutMs: number): number {
  const asked = query.get('timeout');
  if (asked === null || asked === '') return requestTimeoutMs;
  const ms = parseDurationMs(asked);
  if (ms === undefined) throw invalidTimeout(asked);
  return ms > 0 && ms < requestTimeoutMs ? ms : requestTimeoutMs;
}

async function serveInTime(exchange: Exchange, parts: RequestPathParts): Promise<Reply> {
  const timeoutMs = timeoutOf(exchange.query, parts.requestTimeoutMs);
  const late = Promise.withResolvers<never>();
  const timer = parts.clock.setTimer(timeoutMs, () =>
    late.reject(new ApiStatusError('Timeout', 'Timeout: request did not complete within the allotted timeout')),
  );
  try {
    return await Promise.race([serve(exchange, parts), late.promise]);
  } finally {
    timer.cancel();
  }
}

function refusalOf(error: unknown, exchange: Exchange, log: Logger): ApiStatusError {
  const status = statusOf(error);
  if (!(error instanceof ApiStatusError)) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('A request failed with an internal error', {
      auditID: exchange.auditId,
      verb: exchange.info.verb,
      path: exchange.path,
      error: message,
    });
  }
  return status;
}
