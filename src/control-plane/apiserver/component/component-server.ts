import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Authenticator, Authorizer, UserInfo } from '../../model/user-info.ts';
import { healthEndpoint } from '../endpoints/health.ts';
import { authenticate } from '../path/authenticate.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { jsonReply, textReply } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { HttpServer } from '../http/server.ts';
import type { TlsOptions } from '../http/server.ts';
import type { HealthCheck } from '../options.ts';

/** The limit of connections. It suffices for probes and a few scrapers. */
const MOST_CONNECTIONS = 100;
const MEBIBYTE = 1024 * 1024;

export interface ComponentPages {
  readonly checks: readonly HealthCheck[];
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Returns the content of `/configz`. */
  readonly configuration: () => object;
}

export interface ComponentAccess {
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /**
   * The paths that need no authorization (`--authorization-always-allow-paths`). A trailing star matches all paths
   * below.
   */
  readonly openPaths: readonly string[];
}

export interface ComponentServerOptions {
  readonly tls: TlsOptions;
  readonly pages: ComponentPages;
  readonly access: ComponentAccess;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves the secure port of a component (upstream: 10259 of kube-scheduler): health, metrics and configuration. */
export function createComponentServer({ tls, pages, access, clock, log }: ComponentServerOptions): HttpServer {
  return new HttpServer({
    ...{ tls, clock, log },
    serve: componentHandler(pages, access, log),
    maxConnections: MOST_CONNECTIONS,
    gzipFromBytes: 128 * 1024,
    unreadBytesPerConnection: 4 * MEBIBYTE,
  });
}

/**
 * Handles a request. Every path requires authentication, and every path that is not open requires authorization
 * (upstream: DelegatingAuthorizer).
 */
export function componentHandler(
  pages: ComponentPages,
  access: ComponentAccess,
  log: Logger,
): (http: HttpRequest) => Promise<Reply> {
  const health = healthEndpoint(pages.checks, (check, error) => log.warn('health check failed', { check, error }));
  return async (http) => {
    const { rawPath: path, search } = http.target;
    const who = await authenticate(http, { authenticators: access.authenticators, anonymous: true });
    if ('refused' in who) {
      log.warn('Unable to authenticate the request', { errors: who.errors });
      return textReply(401, 'Unauthorized\n');
    }
    if (!isOpen(path, access.openPaths)) {
      const refused = await refusalOf(access.authorizer, who.user, http.method, path);
      if (refused !== undefined) return textReply(403, refused);
    }
    if (http.method !== 'GET' && http.method !== 'HEAD') return textReply(405, 'Method Not Allowed\n');
    if (path === '/metrics') {
      const { contentType, text } = await pages.metrics();
      return { kind: 'body', status: 200, headers: { 'content-type': contentType }, body: text };
    }
    if (path === '/configz') return jsonReply(200, JSON.stringify(pages.configuration()));
    const reply = await health.serve({ path, query: new URLSearchParams(search) });
    return reply ?? textReply(404, '404 page not found\n');
  };
}

/** Whether the path, as sent, is open. A path with escapes is not. */
function isOpen(path: string, openPaths: readonly string[]): boolean {
  return openPaths.some((open) => (open.endsWith('*') ? path.startsWith(open.slice(0, -1)) : path === open));
}

async function refusalOf(
  authorizer: Authorizer,
  user: UserInfo,
  method: string,
  path: string,
): Promise<string | undefined> {
  const verb = method.toLowerCase();
  const about = { apiGroup: '', apiVersion: '', resource: '', subresource: '', namespace: '', name: '' };
  const shown = `User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
  try {
    const { decision, reason } = await authorizer.authorize({ user, verb, path, resourceRequest: false, ...about });
    return decision === 'allow' ? undefined : `forbidden: ${shown}${reason === '' ? '' : `: ${reason}`}\n`;
  } catch (error) {
    return `forbidden: ${shown}: ${errorMessage(error)}\n`;
  }
}
