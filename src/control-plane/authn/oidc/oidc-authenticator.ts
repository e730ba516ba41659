import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { runAtPace } from '../../../base/steps.ts';
import { Pace } from '../../../base/turn.ts';
import type { AccessObserver } from '../../model/access-observer.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';
import type { CompiledJwt } from '../configuration/validate-authentication-configuration.ts';
import { claimedIssuer } from '../service-accounts/service-account-tokens.ts';
import { mapClaims } from './map-claims.ts';
import { ProviderKeys } from './provider-keys.ts';
import type { ProviderOptions } from './provider-keys.ts';

/**
 * The algorithms that can be configured (--oidc-signing-algs): the asymmetric ones of RFC 7518. A configuration file
 * accepts all of them.
 */
export const signingAlgorithms: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
];

export interface OidcOptions extends Pick<ProviderOptions, 'fetchJson' | 'clock' | 'log'> {
  readonly compiled: CompiledJwt;
  readonly algorithms: readonly string[];
  readonly observer?: Pick<AccessObserver, 'jwtJudged' | 'keysFetched'>;
}

export interface OidcAuthenticator extends TokenAuthenticator {
  /** Fetches the provider's keys before the first token comes. */
  prepare(): Promise<void>;
}

/**
 * Authenticates ID tokens of an OpenID Connect provider. Its keys are fetched with the first token, and again when a
 * token names an unknown key. Throws `Invalid` for algorithms that are not allowed.
 */
export function createOidcAuthenticator(options: OidcOptions): OidcAuthenticator {
  const { compiled, algorithms, clock, log, fetchJson, observer } = options;
  const { url: issuerUrl = '', discoveryURL = '' } = compiled.jwt.issuer ?? {};
  const unknown = algorithms.find((algorithm) => !signingAlgorithms.includes(algorithm));
  if (unknown !== undefined)
    throw new KubeletError('Invalid', `oidc: unsupported signing alg: ${JSON.stringify(unknown)}`);
  const keys = new ProviderKeys({
    issuerUrl,
    ...(discoveryURL !== '' && { discoveryUrl: discoveryURL }),
    fetchJson,
    clock,
    log,
    onFetched: (set) => observer?.keysFetched(issuerUrl, set),
  });
  const judge = async (token: string): Promise<AuthenticationResult> => {
    const { compactVerify, createLocalJWKSet, decodeProtectedHeader } = await import('jose');
    try {
      const { kid } = decodeProtectedHeader(token);
      const set = await keys.forKey(kid);
      const verified = await compactVerify(token, createLocalJWKSet(set as Parameters<typeof createLocalJWKSet>[0]), {
        algorithms: [...algorithms],
      });
      const claims: unknown = JSON.parse(Buffer.from(verified.payload).toString());
      const { jwt, programs } = compiled;
      const pace = new Pace(clock);
      const steps = mapClaims(jwt, programs, claims as Record<string, unknown>, clock.nowMs() / 1000);
      return await runAtPace(steps, () => pace.rest());
    } catch (error) {
      return { outcome: 'failed', error: `oidc: verify token: ${errorMessage(error)}` };
    }
  };
  return {
    name: 'oidc',
    prepare: () => keys.prepare(),
    authenticateToken: async (token) => {
      if (claimedIssuer(token) !== issuerUrl) return { outcome: 'none' };
      const startedMs = clock.monotonicMs();
      const result = await judge(token);
      observer?.jwtJudged(issuerUrl, result.outcome === 'user', clock.monotonicMs() - startedMs);
      return result;
    },
  };
}
