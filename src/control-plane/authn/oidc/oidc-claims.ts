import type { AuthenticationResult } from '../../model/user-info.ts';

export interface OidcMapping {
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Default `sub`. */
  readonly usernameClaim?: string;
  /** Absent: the issuer and # before all claims but `email`; `-`: none. */
  readonly usernamePrefix?: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly requiredClaims?: Readonly<Record<string, string>>;
}

const failed = (error: string): AuthenticationResult => ({ outcome: 'failed', error });
const LEEWAY_SECONDS = 300;

/** The user of verified claims (upstream: authenticator/token/oidc). */
export function mapOidcClaims(
  mapping: OidcMapping,
  claims: Readonly<Record<string, unknown>>,
  nowSeconds: number,
): AuthenticationResult {
  const refused = refuseClaims(mapping, claims, nowSeconds);
  if (refused !== undefined) return failed(`oidc: ${refused}`);
  const { usernameClaim = 'sub', groupsClaim, groupsPrefix = '' } = mapping;
  const name = claims[usernameClaim];
  if (typeof name !== 'string' || name === '')
    return failed(`oidc: parse username claims ${JSON.stringify(usernameClaim)}: claim not present`);
  if (usernameClaim === 'email' && claims['email_verified'] !== undefined && claims['email_verified'] !== true)
    return failed('oidc: email not verified');
  const groups = groupsClaim === undefined ? [] : [claims[groupsClaim] ?? []].flat();
  if (!groups.every((group): group is string => typeof group === 'string'))
    return failed(`oidc: parse groups claim ${JSON.stringify(groupsClaim)}: groups must be text`);
  for (const [claim, wanted] of Object.entries(mapping.requiredClaims ?? {})) {
    const value = claims[claim];
    if (value === undefined) return failed(`oidc: required claim ${claim} not present in ID token`);
    if (value !== wanted)
      return failed(`oidc: required claim ${claim} value does not match. Got = ${String(value)}, want = ${wanted}`);
  }
  return {
    outcome: 'user',
    user: { name: prefixOf(mapping, usernameClaim) + name, groups: groups.map((group) => groupsPrefix + group) },
  };
}

function prefixOf({ usernamePrefix, issuerUrl }: OidcMapping, usernameClaim: string): string {
  if (usernamePrefix === '-') return '';
  return usernamePrefix ?? (usernameClaim === 'email' ? '' : `${issuerUrl}#`);
}

function refuseClaims(
  { issuerUrl, clientId }: OidcMapping,
  { iss, aud, exp, nbf }: Readonly<Record<string, unknown>>,
  nowSeconds: number,
): string | undefined {
  if (iss !== issuerUrl)
    return `verify token: oidc: id token issued by a different provider, expected ${JSON.stringify(issuerUrl)} got ${JSON.stringify(iss)}`;
  const audiences = [aud ?? []].flat();
  if (!audiences.includes(clientId))
    return `verify token: oidc: expected audience ${JSON.stringify(clientId)} got ${JSON.stringify(audiences)}`;
  if (typeof exp !== 'number' || exp < nowSeconds)
    return `verify token: oidc: token is expired (Token Expiry: ${typeof exp === 'number' ? new Date(exp * 1000).toISOString() : 'none'})`;
  if (typeof nbf === 'number' && nowSeconds + LEEWAY_SECONDS < nbf)
    return 'verify token: oidc: current time before the nbf (not before) time';
  return undefined;
}
