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

/** The default lifetime of the TokenRequest API. */
const TOKEN_LIFE_SECONDS = 3600;

/** Reads service accounts and their tokens. */
export interface AccountAccess {
  readonly tokens: Pick<PodTokens, 'get'>;
  /** Reads the account. Rejects if it does not exist or the API server is unavailable. */
  readonly account: (namespace: string, name: string) => Promise<ServiceAccount>;
}

/** Creates the access. `client` is undefined on a standalone node. As upstream, the account is read for each pull. */
export function createAccountAccess(client: ApiClient | undefined, tokens: Pick<PodTokens, 'get'>): AccountAccess {
  return {
    tokens,
    account: (namespace, name) =>
      client === undefined
        ? Promise.reject(new KubeletError('Unavailable', 'a standalone node has no service accounts'))
        : client.get(serviceAccounts, { namespace, name }),
  };
}

/** The part of a pod's service account that a plugin gets, and the scope in which its answer is valid. */
export interface AccountRequest {
  readonly source: AccountSource;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The cache key. Requests with the same key share an answer. */
  readonly cacheKey: string;
  /** Whether the plugin may return the token as the password (cacheType Token). */
  readonly mayEchoToken: boolean;
}

/**
 * What happens for this pod. `skip`: the plugin is not called. `without`: it is called without a token (upstream:
 * credentialprovider/plugin/plugin.go provide).
 */
export type AccountDecision =
  | { readonly kind: 'skip' | 'without' }
  | { readonly kind: 'account'; readonly request: AccountRequest };

/** Requests the token and reads the annotations that a provider needs of the pod's service account. */
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
  // Workloads opt in by a required annotation.
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

/** Selects the configured annotations; undefined if a required one is missing. */
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
