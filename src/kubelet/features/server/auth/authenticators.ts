import { createClientCertificateJudge } from '../../../../pki/client-certificates.ts';
import { errorMessage } from '../../../../base/errors.ts';
import { tokenReviews } from '../../../../api/client/resource-types.ts';
import type { TokenReview } from '../../../../api/authentication/token-review.ts';
import type { ApiClient } from '../../../../api/client/api-client.ts';
import type { Clock } from '../../../../base/clock.ts';
import { askReview } from './ask-review.ts';
import type { Asking } from './ask-review.ts';
import type { AuthenticationOutcome, Authenticator } from './auth-types.ts';
import { ReviewCache } from './review-cache.ts';

const AUTHENTICATED = 'system:authenticated';
const TOKENS = 4096;
const REVIEWS_AT_ONCE = 64;
/**
 * How long a refusal of a token is cached. A new token may become valid soon, when all API servers know it. Upstream
 * caches a failure as long as a success.
 */
const UNKNOWN_HOLDS_MS = 10_000;
const LONGEST_TOKEN = 65_536;

export interface AuthenticatorOptions {
  /** The client CA in PEM; undefined if there is none, and certificates are ignored then. */
  readonly clientAuthorities: (() => string) | undefined;
  /** The client that reviews tokens; undefined means that tokens are ignored. */
  readonly tokens: { readonly client: ApiClient; readonly holdsMs: number } | undefined;
  readonly anonymous: boolean;
  readonly asking: Asking;
}

/**
 * Creates an authenticator that identifies the user by certificate, else by token, else as anonymous if that is
 * enabled. An invalid credential is not treated as anonymous (upstream: DelegatingAuthenticatorConfig).
 */
export function createAuthenticator({
  clientAuthorities,
  tokens,
  anonymous,
  asking,
}: AuthenticatorOptions): Authenticator {
  const ways = [
    ...(clientAuthorities === undefined ? [] : [byCertificate(clientAuthorities, asking.clock)]),
    ...(tokens === undefined ? [] : [byToken(tokens, asking)]),
  ];
  return {
    authenticate: async (facts) => {
      const errors: string[] = [];
      for (const way of ways) {
        const result = await way.authenticate(facts);
        if (result.outcome === 'user')
          return { outcome: 'user', user: { ...result.user, groups: withGroup(result.user.groups) } };
        if (result.outcome === 'failed') errors.push(result.error);
      }
      if (errors.length > 0) return { outcome: 'failed', error: errors.join('; ') };
      return anonymous
        ? { outcome: 'user', user: { name: 'system:anonymous', groups: ['system:unauthenticated'] } }
        : { outcome: 'none' };
    },
  };
}

const withGroup = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) || groups.includes('system:unauthenticated') ? groups : [...groups, AUTHENTICATED];

function byCertificate(authorities: () => string, clock: Clock): Authenticator {
  const judge = createClientCertificateJudge({ authorities, nowMs: () => clock.nowMs() });
  return {
    authenticate: ({ clientCertificate }) =>
      Promise.resolve(clientCertificate === undefined ? { outcome: 'none' } : judge(clientCertificate)),
  };
}

function byToken(
  { client, holdsMs }: { readonly client: ApiClient; readonly holdsMs: number },
  asking: Asking,
): Authenticator {
  const cache = new ReviewCache<AuthenticationOutcome>({
    clock: asking.clock,
    entries: TOKENS,
    atOnce: REVIEWS_AT_ONCE,
    holdsMs: ({ outcome }) => (outcome === 'user' ? holdsMs : Math.min(holdsMs, UNKNOWN_HOLDS_MS)),
  });
  const review = async (token: string): Promise<AuthenticationOutcome> => {
    const object: TokenReview = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: { name: '', namespace: '', uid: '' },
      spec: { token },
    };
    const { status } = await askReview('review a token', asking, () => client.create(tokenReviews, object));
    const user = status?.user;
    if (status?.authenticated !== true || user?.username === undefined)
      return {
        outcome: 'failed',
        error: status?.error === undefined || status.error === '' ? 'invalid bearer token' : status.error,
      };
    const { username: name, uid, groups = [], extra } = user;
    return {
      outcome: 'user',
      user: { name, groups, ...(uid !== undefined && uid !== '' && { uid }), ...(extra !== undefined && { extra }) },
    };
  };
  return {
    authenticate: async ({ authorization }) => {
      const token = bearerToken(authorization);
      if (token === undefined) return { outcome: 'none' };
      if (token.length > LONGEST_TOKEN) return { outcome: 'failed', error: 'invalid bearer token' };
      try {
        return await cache.get(token, () => review(token));
      } catch (error) {
        return { outcome: 'failed', error: errorMessage(error) };
      }
    },
  };
}

function bearerToken(authorization = ''): string | undefined {
  const [scheme, token] = authorization.trim().split(' ', 2);
  return scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '' ? token : undefined;
}
