import type { Secret } from '../../../api/core/secret.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { isTokenOf, legacyToken } from '../../../api/legacy-token.ts';

export type TokenPlan =
  | { readonly kind: 'nothing' }
  /** The account was deleted. */
  | { readonly kind: 'delete' }
  | { readonly kind: 'fill'; readonly needsToken: boolean; readonly data: Readonly<Record<string, string>> };

/**
 * Plans the change of a token Secret (upstream: tokens_controller syncSecret, secretUpdateNeeded). `data` contains all
 * fields except the token, in base64.
 */
export function planToken(secret: Secret, account: ServiceAccount | undefined, rootCa: string): TokenPlan {
  if (secret.metadata.deletionTimestamp !== undefined) return { kind: 'nothing' };
  if (!isTokenOf(secret, account)) return { kind: 'delete' };
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const known = secret.data ?? {};
  const data = {
    ...(rootCa !== '' && known['ca.crt'] !== base64(rootCa) && { 'ca.crt': base64(rootCa) }),
    ...((known['namespace'] ?? '') === '' && { namespace: base64(secret.metadata.namespace) }),
  };
  const needsToken = (known['token'] ?? '') === '';
  return needsToken || Object.keys(data).length > 0 ? { kind: 'fill', needsToken, data } : { kind: 'nothing' };
}

export function filledSecret(
  secret: Secret,
  { metadata: { name, uid } }: ServiceAccount,
  data: Readonly<Record<string, string>>,
): Secret {
  const annotations = {
    ...secret.metadata.annotations,
    [legacyToken.accountName]: name,
    [legacyToken.accountUid]: uid,
  };
  return { ...secret, metadata: { ...secret.metadata, annotations }, data: { ...secret.data, ...data } };
}
