import { createHmac } from 'node:crypto';
import type { Secret } from '../../../api/core/secret.ts';
import { parseTime } from '../../../api/time.ts';

export const TOKEN_NAMESPACE = 'kube-system';
const SECRET_TYPE = 'bootstrap.kubernetes.io/token';
const NAME_PREFIX = 'bootstrap-token-';

export const isTokenSecret = ({ metadata, type }: Secret): boolean =>
  metadata.namespace === TOKEN_NAMESPACE && type === SECRET_TYPE;

const valueOf = ({ data }: Secret, key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString();

/**
 * Returns the expiry in milliseconds since 1970, or undefined for never. An invalid time counts as expired (upstream:
 * GetExpiration).
 */
export function expiresAtMs(secret: Secret): number | undefined {
  const text = valueOf(secret, 'expiration');
  return text === '' ? undefined : (parseTime(text) ?? 0);
}

export interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

/**
 * Returns the token for signing cluster-info, if the Secret contains one with that usage (upstream:
 * validateSecretForSigning).
 */
export function signingTokenOf(secret: Secret, nowMs: number): SigningToken | undefined {
  const token = { id: valueOf(secret, 'token-id'), secret: valueOf(secret, 'token-secret') };
  if (
    !isTokenSecret(secret) ||
    token.id === '' ||
    token.secret === '' ||
    secret.metadata.name !== NAME_PREFIX + token.id
  )
    return undefined;
  const atMs = expiresAtMs(secret);
  return (atMs !== undefined && atMs <= nowMs) || valueOf(secret, 'usage-bootstrap-signing') !== 'true'
    ? undefined
    : token;
}

/** Computes a detached JWS (HS256). kubeadm computes the same and compares, so every character matters. */
export function detachedSignature(content: string, { id, secret }: SigningToken): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
  const signature = createHmac('sha256', secret)
    .update(`${header}.${Buffer.from(content).toString('base64url')}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

const SIGNATURE_PREFIX = 'jws-kubeconfig-';

/** Returns the data with exactly the signatures of these tokens, or the same object if nothing changes. */
export function withSignatures(
  data: Readonly<Record<string, string>>,
  tokens: readonly SigningToken[],
): Readonly<Record<string, string>> {
  const content = data['kubeconfig'];
  if (content === undefined) return data;
  const others = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX));
  const signed = Object.fromEntries([
    ...others,
    ...tokens.map((token) => [SIGNATURE_PREFIX + token.id, detachedSignature(content, token)]),
  ]);
  const isSame =
    Object.keys(signed).length === Object.keys(data).length &&
    Object.entries(signed).every(([key, value]) => data[key] === value);
  return isSame ? data : signed;
}
