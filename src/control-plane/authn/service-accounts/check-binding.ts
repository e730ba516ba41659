import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { nodes, pods, secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { legacyToken } from '../../../api/legacy-token.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { AuthenticationResult } from '../../model/user-info.ts';
import { LEEWAY_SECONDS, readKubernetesClaims, serviceAccountInfo, serviceAccountUser } from './token-claims.ts';

type Payload = Readonly<Record<string, unknown>>;

const failed = (error: string): AuthenticationResult => ({ outcome: 'failed', error });
const INVALIDATED = 'service account token has been invalidated';

/** Whether the object has been terminating for more than a minute. Until then its tokens stay valid, as in upstream. */
function isLongDeleted({ metadata }: ApiObject, nowMs: number): boolean {
  return (
    metadata.deletionTimestamp !== undefined && Date.parse(metadata.deletionTimestamp) < nowMs - LEEWAY_SECONDS * 1000
  );
}

/**
 * Whether the account and the object to which the token is bound still exist unchanged (upstream:
 * serviceaccount/claims.go).
 */
export function checkBoundToken(reader: ObjectReader, payload: Payload, nowMs: number): AuthenticationResult {
  const { namespace, serviceAccount, pod, secret, node } = readKubernetesClaims(payload);
  const refused = refuseAccount(reader, namespace, serviceAccount, nowMs);
  if (refused !== undefined) return failed(refused);
  const checks: readonly [
    kind: string,
    claim: { name: string; uid?: string } | undefined,
    object: ApiObject | undefined,
  ][] = [
    ['secret', secret, secret && reader.get(secrets, { namespace, name: secret.name })],
    ['pod', pod, pod && reader.get(pods, { namespace, name: pod.name })],
    // The node of a pod's token is only informative. The pod is checked.
    ['node', pod === undefined ? node : undefined, node && reader.get(nodes, { namespace: '', name: node.name })],
  ];
  for (const [kind, claim, object] of checks) {
    if (claim === undefined) continue;
    if (object === undefined) return failed(INVALIDATED);
    const { uid } = object.metadata;
    if (uid !== claim.uid)
      return failed(`${kind} UID (${uid}) does not match service account ${kind} ref claim (${claim.uid ?? ''})`);
    if (isLongDeleted(object, nowMs)) return failed(INVALIDATED);
  }
  const jti = typeof payload['jti'] === 'string' ? payload['jti'] : '';
  return {
    outcome: 'user',
    user: serviceAccountInfo({ namespace, name: serviceAccount.name, uid: serviceAccount.uid ?? '', pod, node, jti }),
  };
}

function refuseAccount(
  reader: ObjectReader,
  namespace: string,
  claim: { name: string; uid?: string },
  nowMs: number,
): string | undefined {
  const account = reader.get(serviceAccounts, { namespace, name: claim.name });
  if (account === undefined) return `serviceaccounts ${JSON.stringify(claim.name)} not found`;
  const { uid } = account.metadata;
  if (uid !== claim.uid) return `service account UID (${uid}) does not match claim (${claim.uid ?? ''})`;
  return isLongDeleted(account, nowMs) ? `service account ${namespace}/${claim.name} has been deleted` : undefined;
}

/**
 * Tokens without expiry, stored in a Secret of type service-account-token: valid as long as that Secret contains them
 * (upstream: serviceaccount/legacy.go).
 */
export function checkLegacyToken(
  reader: ObjectReader,
  payload: Payload,
  token: string,
  used: (secret: Secret) => void = () => undefined,
): AuthenticationResult {
  const claim = (name: string): string => (typeof payload[name] === 'string' ? payload[name] : '');
  const prefix = 'kubernetes.io/serviceaccount/';
  const [sub, namespace, secretName, name, uid] = [
    claim('sub'),
    ...['namespace', 'secret.name', 'service-account.name', 'service-account.uid'].map((each) => claim(prefix + each)),
  ] as [string, string, string, string, string];
  const missing = [
    ['sub', sub],
    ['namespace', namespace],
    ['secretName', secretName],
    ['serviceAccountName', name],
    ['serviceAccountUID', uid],
  ].find(([, value]) => value === '');
  if (missing !== undefined) return failed(`${missing[0]} claim is missing`);
  if (sub !== serviceAccountUser(namespace, name)) return failed('sub claim is invalid');
  const secret = reader.get(secrets, { namespace, name: secretName });
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
    return failed('Token has been invalidated');
  if (!isSame(Buffer.from(secret.data?.['token'] ?? '', 'base64').toString(), token))
    return failed("Token does not match server's copy");
  const account = reader.get(serviceAccounts, { namespace, name });
  if (account === undefined) return failed(`serviceaccounts ${JSON.stringify(name)} not found`);
  if (account.metadata.deletionTimestamp !== undefined)
    return failed(`ServiceAccount ${namespace}/${name} has been deleted`);
  if (account.metadata.uid !== uid)
    return failed(`ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`);
  const label = legacyToken.invalidSince;
  if ((secret.metadata.labels?.[label] ?? '') !== '') {
    return failed(
      `the token in secret ${namespace}/${secretName} for service account ${namespace}/${name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${label}' label from the secret to temporarily allow use of this token`,
    );
  }
  used(secret);
  return { outcome: 'user', user: serviceAccountInfo({ namespace, name, uid }) };
}

function isSame(left: string, right: string): boolean {
  const digest = (value: string): Buffer => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(left), digest(right));
}
