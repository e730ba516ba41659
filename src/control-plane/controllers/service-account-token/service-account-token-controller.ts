import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { accountOfToken, isTokenOf, isTokenSecret } from '../../../api/legacy-token.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { filledSecret, planToken } from './plan-token.ts';

/** The number of concurrent syncs (upstream: --concurrent-serviceaccount-token-syncs). */
const WORKERS = 5;

export interface TokenControllerOptions extends ControllerOptions {
  /** The cluster's CA as PEM, for `ca.crt`. */
  readonly rootCa: string;
  readonly signLegacyToken: (
    account: { readonly namespace: string; readonly name: string; readonly uid: string },
    secretName: string,
  ) => Promise<string>;
}

/**
 * Writes tokens without expiry into Secrets of type kubernetes.io/service-account-token, and deletes Secrets of deleted
 * accounts.
 */
export function createServiceAccountTokenController(options: TokenControllerOptions): Controller {
  const { informers, clock, log } = options;
  const secretInformer = informers.for(secrets);
  const accounts = informers.for(serviceAccounts);
  const byAccount = secretInformer.index('tokenAccount', (secret) =>
    isTokenSecret(secret)
      ? [formatKey({ namespace: secret.metadata.namespace, name: accountOfToken(secret).name })]
      : [],
  );
  const syncer = new TokenSyncer(options);
  const tokens = new RateLimitingQueue({
    name: 'serviceaccount_tokens_secret',
    clock,
    log,
    workers: WORKERS,
    sync: async (key) => {
      const secret = secretInformer.getByKey(key);
      if (secret !== undefined && isTokenSecret(secret)) await syncer.syncSecret(secret, await findAccount(secret));
    },
  });
  /** The queue of references to remove. Its keys are namespace, account and deleted Secret. */
  const references = new RateLimitingQueue({
    name: 'serviceaccount_tokens_service',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.removeReference(key),
  });
  /** Finds the account. Only the API server confirms its deletion, because the cache may be outdated. */
  const findAccount = async (secret: Secret): Promise<ServiceAccount | undefined> => {
    const key = { namespace: secret.metadata.namespace, name: accountOfToken(secret).name };
    const cached = accounts.get(key);
    if (isTokenOf(secret, cached)) return cached;
    try {
      return await options.client.get(serviceAccounts, key);
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  const wake = (secret: Secret): void => {
    if (isTokenSecret(secret)) tokens.add(formatKey(keyOf(secret)));
  };
  const ends = [
    secretInformer.addHandlers({
      onAdd: wake,
      onUpdate: (_before, after) => wake(after),
      onDelete: (secret) => {
        const { namespace, name } = secret.metadata;
        if (isTokenSecret(secret)) references.add([namespace, accountOfToken(secret).name, name].join('/'));
      },
    }),
    accounts.addHandlers({ onDelete: (account) => byAccount.get(formatKey(keyOf(account))).forEach(wake) }),
  ];
  return runController({
    name: 'service account token controller',
    log,
    queues: [tokens, references],
    informers: [secretInformer, accounts],
    ends,
  });
}

class TokenSyncer {
  readonly #options: TokenControllerOptions;

  constructor(options: TokenControllerOptions) {
    this.#options = options;
  }

  async syncSecret(secret: Secret, account: ServiceAccount | undefined): Promise<void> {
    const { client, rootCa, signLegacyToken } = this.#options;
    const plan = planToken(secret, account, rootCa);
    try {
      if (plan.kind === 'delete') {
        const { uid } = secret.metadata;
        await client.delete(secrets, keyOf(secret), { preconditions: { uid } });
      } else if (plan.kind === 'fill' && account !== undefined) {
        const token = plan.needsToken ? await signLegacyToken(account.metadata, secret.metadata.name) : undefined;
        const data = {
          ...plan.data,
          ...(token !== undefined && { token: Buffer.from(token).toString('base64') }),
        };
        await client.update(secrets, filledSecret(secret, account, data));
      }
    } catch (error) {
      // Another client wrote or deleted it; that event triggers the next pass.
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  /**
   * Removes a reference to a Secret. Accounts of earlier versions list their Secrets (upstream: removeSecretReference).
   */
  async removeReference(key: string): Promise<void> {
    const { client } = this.#options;
    const [namespace = '', name = '', secretName = ''] = key.split('/');
    try {
      const account = await client.get(serviceAccounts, { namespace, name });
      const kept = (account.secrets ?? []).filter((reference) => reference.name !== secretName);
      if (kept.length === (account.secrets ?? []).length) return;
      await client.update(serviceAccounts, { ...account, secrets: kept });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }
}
