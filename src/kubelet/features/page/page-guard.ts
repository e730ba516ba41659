import type { GuardedRequest, GuardVerdict, ListenedRequest, RequestGuard } from '../../ports/request-guard.ts';
import type { LoginAttempts } from './login-attempts.ts';
import { isSameToken } from './page-sessions.ts';
import type { PageSessions, SessionCredential } from './page-sessions.ts';

export interface PageGuardParts {
  /** The guard of the kubelet's server; undefined if no client can authenticate there. */
  readonly guard: RequestGuard | undefined;
  /** The token of the page; undefined if there is none. */
  readonly token: string | undefined;
  readonly sessions: PageSessions;
  readonly attempts: LoginAttempts;
}

/**
 * Paths of the kubelet's server that show the same data. A client must be authorized for all of them: `nodes/stats` and
 * `nodes/pods` for the page, and `nodes/log` for logs, which are below /var/log.
 */
const dataNeeds: readonly string[] = ['/stats/summary', '/pods'];
const logNeeds: readonly string[] = ['/logs/pods'];

const anyone: GuardVerdict = { outcome: 'allowed', user: { name: 'system:anonymous', groups: [] } };
const pageUser: GuardVerdict = { outcome: 'allowed', user: { name: 'kubelet:page', groups: [] } };
const unauthorized: GuardVerdict = { outcome: 'refused', status: 401, body: 'Unauthorized' };

/**
 * Decides about each request to the page's port. The page without data and its login are public. All other requests
 * need a session, or credentials that the kubelet's server accepts.
 */
export class PageGuard implements RequestGuard<ListenedRequest> {
  readonly #parts: PageGuardParts;

  constructor(parts: PageGuardParts) {
    this.#parts = parts;
  }

  async check(request: ListenedRequest): Promise<GuardVerdict> {
    const { method, path, isUpgrade, cookie, remoteAddress } = request;
    if (isUpgrade) return unauthorized;
    if (path === '/login' && method === 'POST' && !this.#parts.attempts.take(remoteAddress))
      return { outcome: 'refused', status: 429, body: 'Too many attempts to log in. Try again in a minute.\n' };
    if (!path.startsWith('/api/')) return anyone;
    const needs = path.startsWith('/api/logs/') ? logNeeds : dataNeeds;
    const session = request.authorization === undefined ? this.#parts.sessions.find(cookie) : undefined;
    if (session?.kind === 'page') return pageUser;
    return this.#ask(needs, { ...request, authorization: request.authorization ?? session?.authorization });
  }

  /** Returns the credential of a token given at the login, or undefined if it is not accepted. */
  async judgeToken(token: string): Promise<SessionCredential | undefined> {
    if (this.#parts.token !== undefined && isSameToken(token, this.#parts.token)) return { kind: 'page' };
    // A token is one word. Any other text could inject a header.
    if (!/^[\x21-\x7e]+$/.test(token)) return undefined;
    const authorization = `Bearer ${token}`;
    const verdict = await this.#ask(dataNeeds, {
      method: 'GET',
      path: '/api/events',
      isUpgrade: false,
      clientCertificate: undefined,
      authorization,
    });
    return verdict.outcome === 'allowed' ? { kind: 'bearer', authorization } : undefined;
  }

  async #ask(needs: readonly string[], { clientCertificate, authorization }: GuardedRequest): Promise<GuardVerdict> {
    let verdict = unauthorized;
    for (const path of this.#parts.guard === undefined ? [] : needs) {
      verdict =
        (await this.#parts.guard?.check({ method: 'GET', path, isUpgrade: false, clientCertificate, authorization })) ??
        unauthorized;
      if (verdict.outcome === 'refused') return verdict;
    }
    return verdict;
  }
}
