import { createHash } from 'node:crypto';
import type { ApiClient } from '../../../../api/client/api-client.ts';
import { serviceAccounts } from '../../../../api/client/resource-types.ts';
import type { ServiceAccount } from '../../../../api/core/service-account.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { ownValue } from '../../../../base/lookup.ts';
import type { PodTokens } from '../../../ports/tokens.ts';
import type { AccountSource } from './keyring.ts';
import type { TokenAttributes } from './token-attributes.ts';

/** The default of the TokenRequest API. */
const TOKEN_LIFE_SECONDS = 3600;

/** Where service accounts and their tokens come from. */
export interface AccountAccess {
  readonly tokens: Pick<PodTokens, 'get'>;
  /** Rejects when the account does not exist or the API server is unavailable. */
  readonly account: (namespace: string, name: string) => Promise<ServiceAccount>;
}

/** `client` is undefined on a standalone node. The account is read for each pull, as upstream does. */
export function createAccountAccess(client: ApiClient | undefined, tokens: Pick<PodTokens, 'get'>): AccountAccess {
  return {
    tokens,
    account: (namespace, name) =>
      client === undefined
        ? Promise.reject(new KubeletError('Unavailable', 'a standalone node has no service accounts'))
        : client.get(serviceAccounts, { namespace, name }),
  };
}

/** What a plugin gets of a pod's service account, and for whom its answer is valid. */
export interface AccountRequest {
  readonly source: AccountSource;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Answers are shared by requests with the same key. */
  readonly cacheKey: string;
  /** With cacheType Token the plugin may return the token itself as the password. */
  readonly mayEchoToken: boolean;
}

/**
 * `skip`: the plugin is not for this pod. `without`: it is called as a plugin without tokens (upstream:
 * credentialprovider/plugin/plugin.go provide).
 */
export type AccountDecision =
  | { readonly kind: 'skip' | 'without' }
  | { readonly kind: 'account'; readonly request: AccountRequest };

/** The token and annotations that a provider asks for, of the pod's service account. */
export async function requestAccount(
  attributes: TokenAttributes,
  { metadata, spec }: Pod,
  { tokens, account }: AccountAccess,
): Promise<AccountDecision> {
  const { namespace, name: podName, uid: podUid } = metadata;
  const serviceAccount = spec.serviceAccountName ?? '';
  if (serviceAccount === '') return { kind: attributes.requireServiceAccount ? 'skip' : 'without' };
  const found = await account(namespace, serviceAccount);
  const annotations = selectAnnotations(attributes, found.metadata.annotations ?? {});
  // A required annotation is how workloads opt in.
  if (annotations === undefined) return { kind: 'skip' };
  const source = { uid: found.metadata.uid, namespace, name: serviceAccount };
  const { token } = await tokens.get({
    namespace,
    serviceAccount,
    serviceAccountUid: source.uid,
    audiences: [attributes.audience],
    expirationSeconds: TOKEN_LIFE_SECONDS,
    pod: { name: podName, uid: podUid },
  });
  const mayEchoToken = attributes.cacheType === 'Token';
  const shared = [namespace, serviceAccount, source.uid, Object.entries(annotations).sort(byName)];
  const ofToken = mayEchoToken ? [createHash('sha256').update(token).digest('hex')] : [];
  return {
    kind: 'account',
    request: { source, token, annotations, mayEchoToken, cacheKey: JSON.stringify([...shared, ...ofToken]) },
  };
}

const byName = ([left]: readonly [string, string], [right]: readonly [string, string]): number =>
  left < right ? -1 : Number(left > right);

/** Undefined where a required one is missing. */
function selectAnnotations(
  { requiredAnnotations, optionalAnnotations }: TokenAttributes,
  given: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const found = (key: string): [string, string][] => {
    const value = ownValue(given, key);
    return value === undefined ? [] : [[key, value]];
  };
  const required = requiredAnnotations.flatMap(found);
  if (required.length < requiredAnnotations.length) return undefined;
  return Object.fromEntries([...required, ...optionalAnnotations.flatMap(found)]);
}
