import type { KeyObject } from 'node:crypto';
import type { Secret } from '../../../api/core/secret.ts';
import type { Random } from '../../../base/random.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ActionServices } from '../../model/resource-definition.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';
import { checkBoundToken, checkLegacyToken } from './check-binding.ts';
import { tokenKeyOf } from './signing-keys.ts';
import type { TokenKey } from './signing-keys.ts';
import { computeBoundClaims, LEGACY_ISSUER, refuseTimes, serviceAccountUser } from './token-claims.ts';

export interface TokenSignerOptions {
  readonly issuer: string;
  readonly key: KeyObject;
  readonly apiAudiences: readonly string[];
  readonly nowMs: () => number;
  readonly random: Random;
  /** Default true (--service-account-extend-token-expiration). */
  readonly extendExpiration?: boolean;
}

export interface TokenSigner extends ActionServices {
  /** Signs a token without expiry, for a Secret of type kubernetes.io/service-account-token. */
  signLegacyToken(
    account: { readonly namespace: string; readonly name: string; readonly uid: string },
    secretName: string,
  ): Promise<string>;
}

/** Signs the tokens of `serviceaccounts/token`. */
export function createTokenSigner(options: TokenSignerOptions): TokenSigner {
  const { issuer, key, apiAudiences, nowMs, random, extendExpiration = true } = options;
  const { id, algorithm } = tokenKeyOf(key);
  const sign = async (claims: object): Promise<string> => {
    const { CompactSign } = await import('jose');
    return new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: algorithm, kid: id })
      .sign(key);
  };
  return {
    apiAudiences,
    signServiceAccountToken: async (request) => {
      const nowSeconds = Math.floor(nowMs() / 1000);
      const claims = computeBoundClaims(request, {
        issuer,
        jti: random.uuid(),
        nowSeconds,
        apiAudiences,
        extendExpiration,
      });
      // The response has the requested expiry even if the token is valid longer, because clients should request a new
      // one by then.
      return { token: await sign(claims), expiresAtMs: (nowSeconds + request.expirationSeconds) * 1000 };
    },
    signLegacyToken: ({ namespace, name, uid }, secretName) => {
      const prefix = 'kubernetes.io/serviceaccount/';
      const named = {
        [`${prefix}namespace`]: namespace,
        [`${prefix}secret.name`]: secretName,
        [`${prefix}service-account.name`]: name,
        [`${prefix}service-account.uid`]: uid,
      };
      return sign({ iss: LEGACY_ISSUER, ...named, sub: serviceAccountUser(namespace, name) });
    },
  };
}

export interface ServiceAccountAuthenticatorOptions {
  /** The first issuer signs; all are accepted. */
  readonly issuers: readonly string[];
  readonly keys: readonly TokenKey[];
  readonly apiAudiences: readonly string[];
  readonly reader: ObjectReader;
  readonly nowMs: () => number;
  /** Called with the Secret whose token was accepted. */
  readonly legacyUsed?: (secret: Secret) => void;
}

/** Tokens of service accounts, bound or stored in Secrets. Tokens of other issuers are left to other authenticators. */
export function createServiceAccountAuthenticator(options: ServiceAccountAuthenticatorOptions): TokenAuthenticator {
  const issuers = new Set([...options.issuers, LEGACY_ISSUER]);
  return {
    name: 'service account',
    authenticateToken: async (token, audiences) => {
      if (!issuers.has(claimedIssuer(token) ?? '')) return { outcome: 'none' };
      const payload = await verify(token, options.keys);
      if (typeof payload === 'string') return failed(payload);
      const { iss } = payload;
      if (typeof iss !== 'string' || !issuers.has(iss)) return failed(`token issuer ${JSON.stringify(iss)} is invalid`);
      const agreed = agreeOnAudiences(payload['aud'], audiences, options.apiAudiences);
      if (typeof agreed === 'string') return failed(agreed);
      const refused = refuseTimes(payload, options.nowMs() / 1000);
      if (refused !== undefined) return failed(refused);
      const result =
        iss === LEGACY_ISSUER
          ? checkLegacyToken(options.reader, payload, token, options.legacyUsed)
          : checkBoundToken(options.reader, payload, options.nowMs());
      return result.outcome === 'user' ? { ...result, audiences: agreed } : result;
    },
  };
}

const failed = (error: string): AuthenticationResult => ({ outcome: 'failed', error });

/** Returns the issuer in an unverified token, which is used only to select the authenticator. */
export function claimedIssuer(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    const issuer =
      typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>)['iss'] : undefined;
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the payload if one of the keys signed it, with the algorithm of that key. */
async function verify(token: string, keys: readonly TokenKey[]): Promise<Readonly<Record<string, unknown>> | string> {
  const { compactVerify, decodeProtectedHeader } = await import('jose');
  try {
    const { kid } = decodeProtectedHeader(token);
    const candidates = kid === undefined ? keys : keys.filter(({ id }) => id === kid);
    for (const { key, algorithm } of candidates) {
      const verified = await compactVerify(token, key, { algorithms: [algorithm] }).catch(() => undefined);
      if (verified !== undefined)
        return JSON.parse(Buffer.from(verified.payload).toString()) as Record<string, unknown>;
    }
    return candidates.length === 0 ? 'invalid signature, no keys found' : 'invalid signature';
  } catch {
    return 'the token cannot be read';
  }
}

/** Returns the audiences. Legacy tokens without audiences are valid for the API server's audiences. */
function agreeOnAudiences(
  claimed: unknown,
  asked: readonly string[] | undefined,
  own: readonly string[],
): readonly string[] | string {
  const claims = [claimed ?? []].flat().filter((each): each is string => typeof each === 'string');
  const forWhom = claims.length === 0 ? own : claims;
  const wanted = asked ?? own;
  const common = forWhom.filter((audience) => wanted.includes(audience));
  const quote = (list: readonly string[]): string => `[${list.map((each) => JSON.stringify(each)).join(' ')}]`;
  return common.length === 0 && own.length > 0
    ? `token audiences ${quote(forWhom)} is invalid for the target audiences ${quote(wanted)}`
    : common;
}
