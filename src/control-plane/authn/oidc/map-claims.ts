import type { Steps } from '../../../base/steps.ts';
import { goQuote } from '../../../api/go-quote.ts';
import type { Program } from '../../../cel/compile.ts';
import type { CelValue } from '../../../cel/values.ts';
import { CelList } from '../../../cel/values.ts';
import type { AuthenticationResult, UserInfo } from '../../model/user-info.ts';
import type { JwtAuthenticator, PrefixedClaimOrExpression } from '../configuration/authentication-configuration.ts';
import { evaluateClaims, evaluateUserRule } from './claim-expressions.ts';

interface RuleProgram {
  readonly program: Program;
  readonly message: string;
}

/** The expressions of an issuer. */
export interface ClaimPrograms {
  readonly username?: Program;
  readonly groups?: Program;
  readonly uid?: Program;
  readonly extra: readonly { readonly key: string; readonly program: Program }[];
  readonly claimRules: readonly RuleProgram[];
  readonly userRules: readonly RuleProgram[];
}

type Claims = Readonly<Record<string, unknown>>;

const LEEWAY_SECONDS = 300;
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** Ends the mapping. The message becomes part of the result. */
class Refused extends Error {}

const refuse = (why: string): never => {
  throw new Refused(why);
};
const quotedList = (texts: readonly unknown[]): string => `[${texts.map((each) => goQuote(String(each))).join(' ')}]`;
const has = (claims: Claims, name: string): boolean => Object.hasOwn(claims, name);

/**
 * Maps verified claims to a user (upstream: authenticator/token/oidc AuthenticateToken). It yields after each
 * expression.
 */
export function* mapClaims(
  jwt: JwtAuthenticator,
  programs: ClaimPrograms,
  claims: Claims,
  nowSeconds: number,
): Steps<AuthenticationResult> {
  try {
    refuseToken(jwt, claims, nowSeconds);
    const user = yield* userOf(jwt, programs, claims);
    requireClaims(jwt, claims);
    yield* checkRules(programs.claimRules, 'claim validation expression', (program) => evaluateClaims(program, claims));
    yield* checkRules(programs.userRules, 'user info validation rule', (program) => evaluateUserRule(program, user));
    return { outcome: 'user', user };
  } catch (error) {
    if (error instanceof Refused) return { outcome: 'failed', error: `oidc: ${error.message}` };
    throw error;
  }
}

/** Checks the token as go-oidc does, except that its signature was checked before. */
function refuseToken({ issuer = {} }: JwtAuthenticator, { iss, aud, exp, nbf }: Claims, nowSeconds: number): void {
  const { url = '', audiences = [] } = issuer;
  if (iss !== url)
    refuse(
      `verify token: oidc: id token issued by a different provider, expected ${goQuote(url)} got ${goQuote(String(iss))}`,
    );
  const given = [aud ?? []].flat();
  if (!audiences.some((audience) => given.includes(audience)))
    refuse(
      `verify token: oidc: expected audience ${audiences.length === 1 ? goQuote(audiences[0] ?? '') : `in ${quotedList([...audiences].sort())}`} got ${quotedList(given)}`,
    );
  if (typeof exp !== 'number' || exp < nowSeconds)
    refuse(
      `verify token: oidc: token is expired (Token Expiry: ${typeof exp === 'number' ? new Date(exp * 1000).toISOString() : 'none'})`,
    );
  if (typeof nbf === 'number' && nowSeconds + LEEWAY_SECONDS < nbf)
    refuse('verify token: oidc: current time before the nbf (not before) time');
}

function* userOf({ claimMappings = {} }: JwtAuthenticator, programs: ClaimPrograms, claims: Claims): Steps<UserInfo> {
  const name =
    programs.username === undefined
      ? usernameOfClaim(claimMappings.username ?? {}, claims)
      : textOf(programs.username, claims, 'username');
  if (name === '') refuse('empty username via CEL expression is not allowed');
  yield;
  const groups =
    programs.groups === undefined
      ? groupsOfClaim(claimMappings.groups ?? {}, claims)
      : textsOf(programs.groups, claims, 'error evaluating group claim expression');
  yield;
  const uidClaim = claimMappings.uid?.claim ?? '';
  const uid =
    programs.uid !== undefined
      ? textOf(programs.uid, claims, 'uid')
      : uidClaim === ''
        ? ''
        : claimedText(claims, uidClaim, `parse uid claim ${goQuote(uidClaim)}`);
  yield;
  const extra = yield* extraOf(programs, claims);
  return { name, groups, ...(uid !== '' && { uid }), ...(Object.keys(extra).length > 0 && { extra }) };
}

function usernameOfClaim({ claim = '', prefix = '' }: PrefixedClaimOrExpression, claims: Claims): string {
  const name = claimedText(claims, claim, `parse username claims ${goQuote(claim)}`);
  if (name === '') refuse(`parse username claims ${goQuote(claim)}: claim not present`);
  if (claim === 'email' && has(claims, 'email_verified')) {
    const verified = claims['email_verified'];
    if (typeof verified !== 'boolean') refuse(`parse 'email_verified' claim: ${notA('bool', verified)}`);
    if (verified !== true) refuse('email not verified');
  }
  return prefix + name;
}

function groupsOfClaim({ claim = '', prefix = '' }: PrefixedClaimOrExpression, claims: Claims): readonly string[] {
  const value = claims[claim];
  if (claim === '' || !has(claims, claim) || value === null) return [];
  const groups: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!groups.every((group) => typeof group === 'string'))
    refuse(`parse groups claim ${goQuote(claim)}: ${notA('string', value)}`);
  return groups.map((group) => prefix + String(group));
}

function* extraOf({ extra }: ClaimPrograms, claims: Claims): Steps<Readonly<Record<string, readonly string[]>>> {
  const found = new Map<string, readonly string[]>();
  const { jti } = claims;
  if (typeof jti === 'string' && jti !== '') found.set(CREDENTIAL_ID, [`JTI=${jti}`]);
  for (const { key, program } of extra) {
    const values = textsOf(program, claims, `error evaluating extra claim expression: ${program.source}`);
    if (values.length > 0) found.set(key, values);
    yield;
  }
  return Object.fromEntries(found);
}

function requireClaims({ claimValidationRules = [] }: JwtAuthenticator, claims: Claims): void {
  for (const { claim = '', requiredValue: wanted = '' } of claimValidationRules) {
    if (claim === '') continue;
    if (!has(claims, claim)) refuse(`required claim ${claim} not present in ID token`);
    const value = claims[claim];
    if (typeof value !== 'string') refuse(`parse claim ${claim}: ${notA('string', value)}`);
    if (value !== wanted)
      refuse(`required claim ${claim} value does not match. Got = ${String(value)}, want = ${wanted}`);
  }
}

function* checkRules(
  rules: readonly RuleProgram[],
  what: string,
  evaluate: (program: Program) => ReturnType<typeof evaluateClaims>,
): Steps<void> {
  // All rules are evaluated before one is judged, because an error of any of them counts.
  const results: (RuleProgram & { readonly result: ReturnType<typeof evaluate> })[] = [];
  for (const rule of rules) {
    results.push({ ...rule, result: evaluate(rule.program) });
    yield;
  }
  for (const { result } of results) if ('error' in result) refuse(`error evaluating ${what}: ${result.error}`);
  for (const { program, message, result } of results) {
    const value = 'value' in result ? result.value : undefined;
    if (typeof value !== 'boolean') refuse(`error evaluating ${what}: validation expression must return a boolean`);
    if (value !== true)
      refuse(`error evaluating ${what}: validation expression '${program.source}' failed: ${message}`);
  }
}

function claimedText(claims: Claims, claim: string, doing: string): string {
  if (!has(claims, claim)) refuse(`${doing}: claim not present`);
  const value = claims[claim];
  if (value === null) return '';
  return typeof value === 'string' ? value : refuse(`${doing}: ${notA('string', value)}`);
}

/** Returns the error of encoding/json for a wrong type. */
function notA(type: 'string' | 'bool', value: unknown): string {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type ${type}`;
}

function textOf(program: Program, claims: Claims, what: 'username' | 'uid'): string {
  const doing = `error evaluating ${what} claim expression`;
  const result = evaluateClaims(program, claims);
  if ('error' in result) return refuse(`${doing}: ${result.error}`);
  return typeof result.value === 'string'
    ? result.value
    : refuse(`${doing}: ${what} claim expression must return a string`);
}

/** Returns the non-empty texts of a text, a list of texts or null. */
function textsOf(program: Program, claims: Claims, doing: string): readonly string[] {
  const result = evaluateClaims(program, claims);
  if ('error' in result) return refuse(`${doing}: ${result.error}`);
  const { value } = result;
  if (value === null) return [];
  const values: readonly CelValue[] =
    value instanceof CelList ? Array.from({ length: value.length }, (_, index) => value.at(index)) : [value];
  return values
    .map((each) =>
      typeof each === 'string' ? each : refuse(`${doing}: expression must return a string or a list of strings`),
    )
    .filter((each) => each !== '');
}
