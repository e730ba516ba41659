import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';
import { claimedIssuer } from '../service-accounts/service-account-tokens.ts';
import type { HttpJsonAnswer } from '../webhook/http-json.ts';
import { mapOidcClaims } from './oidc-claims.ts';
import type { OidcMapping } from './oidc-claims.ts';

/** The allowed values of --oidc-signing-algs: the asymmetric algorithms of RFC 7518. */
const allowedAlgorithms: readonly string[] = [
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
/** Tokens with invented key ids cannot cause requests to the provider more often than this. */
const ASK_AGAIN_MS = 10_000;

export interface OidcOptions extends OidcMapping {
  /** Default RS256. */
  readonly signingAlgorithms?: readonly string[];
  /** A GET with a timeout. */
  readonly fetchJson: (url: string) => Promise<HttpJsonAnswer>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface KeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/**
 * ID tokens of an OpenID Connect provider. Its keys are fetched with the first token, and again when a token names one
 * that is not known. Throws `Invalid` for options that cannot work.
 */
export function createOidcAuthenticator(options: OidcOptions): TokenAuthenticator {
  const { issuerUrl, signingAlgorithms = ['RS256'], clock } = options;
  refuseOptions(options, signingAlgorithms);
  const keys = new ProviderKeys(options);
  return {
    name: 'oidc',
    authenticateToken: async (token): Promise<AuthenticationResult> => {
      if (claimedIssuer(token) !== issuerUrl) return { outcome: 'none' };
      const { compactVerify, createLocalJWKSet, decodeProtectedHeader } = await import('jose');
      try {
        const { kid } = decodeProtectedHeader(token);
        const set = await keys.forKey(kid);
        const verified = await compactVerify(token, createLocalJWKSet(set as Parameters<typeof createLocalJWKSet>[0]), {
          algorithms: [...signingAlgorithms],
        });
        const claims: unknown = JSON.parse(Buffer.from(verified.payload).toString());
        return mapOidcClaims(options, claims as Record<string, unknown>, clock.nowMs() / 1000);
      } catch (error) {
        return { outcome: 'failed', error: `oidc: verify token: ${errorMessage(error)}` };
      }
    },
  };
}

function refuseOptions({ issuerUrl, clientId }: OidcOptions, algorithms: readonly string[]): void {
  const fail = (why: string): never => {
    throw new KubeletError('Invalid', `oidc: ${why}`);
  };
  if (!issuerUrl.startsWith('https://') || !URL.canParse(issuerUrl))
    fail(`issuer URL must be an https URL, not ${JSON.stringify(issuerUrl)}`);
  if (clientId === '') fail('a client id is needed');
  const unknown = algorithms.find((algorithm) => !allowedAlgorithms.includes(algorithm));
  if (unknown !== undefined) fail(`unsupported signing alg: ${JSON.stringify(unknown)}`);
}

/** The provider's keys. One request at a time; the last successful response stays valid. */
class ProviderKeys {
  readonly #options: OidcOptions;
  #set: KeySet | undefined;
  #askedMs: number | undefined;
  #asking: Promise<void> | undefined;
  #error = 'not initialized';

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  async forKey(kid: string | undefined): Promise<KeySet> {
    if (!this.#has(kid) && this.#mayAsk()) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
    }
    if (!this.#has(kid)) await this.#asking;
    if (this.#set === undefined)
      throw new KubeletError(
        'Unavailable',
        `authenticator for issuer ${JSON.stringify(this.#options.issuerUrl)}: ${this.#error}`,
      );
    return this.#set;
  }

  #has(kid: string | undefined): boolean {
    return this.#set !== undefined && (kid === undefined || this.#set.keys.some((key) => key['kid'] === kid));
  }

  #mayAsk(): boolean {
    return (
      this.#asking === undefined &&
      (this.#askedMs === undefined || this.#options.clock.monotonicMs() - this.#askedMs >= ASK_AGAIN_MS)
    );
  }

  async #ask(): Promise<void> {
    const { issuerUrl, fetchJson, clock, log } = this.#options;
    this.#askedMs = clock.monotonicMs();
    try {
      const found = record(
        (await expectOk(fetchJson, `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`)).body,
      );
      if (found['issuer'] !== issuerUrl)
        throw new KubeletError('Invalid', `the provider calls itself ${JSON.stringify(found['issuer'])}`);
      const address = found['jwks_uri'];
      if (typeof address !== 'string' || !address.startsWith('https://'))
        throw new KubeletError('Invalid', 'the provider names no https address for its keys');
      const { keys } = record((await expectOk(fetchJson, address)).body);
      if (!Array.isArray(keys)) throw new KubeletError('Invalid', 'the provider’s keys are no list');
      this.#set = { keys: keys.map(record) };
    } catch (error) {
      this.#error = errorMessage(error);
      log.error('unable to fetch the keys of an OpenID Connect provider', { issuer: issuerUrl, error: this.#error });
    }
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

async function expectOk(fetchJson: OidcOptions['fetchJson'], url: string): Promise<HttpJsonAnswer> {
  const answer = await fetchJson(url);
  if (answer.status !== 200) throw new KubeletError('Unavailable', `${url} answered ${answer.status}`);
  return answer;
}
