import { keyOf } from '../../../api/client/resource-type.ts';
import { configMaps, pods, secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { accountOfToken, dayOf, isTokenSecret, legacyToken } from '../../../api/legacy-token.ts';
import { secretNames } from '../../../api/pod-references.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { planCleaning } from './plan-cleaning.ts';

const EVERY_MS = 86_400_000;
const ALL = 'all';

export interface TokenCleanerOptions extends ControllerOptions {
  /** The period without use (upstream: --legacy-service-account-token-clean-up-period). */
  readonly cleanUpMs: number;
}

/** Once a day, marks unused tokens as invalid, and deletes those that were marked long ago. */
export function createLegacyTokenCleaner(options: TokenCleanerOptions): Controller {
  const { client, informers, clock, log, cleanUpMs } = options;
  const accounts = informers.for(serviceAccounts);
  const secretInformer = informers.for(secrets);
  const podInformer = informers.for(pods);
  const tokens = secretInformer.index('legacyToken', (secret) => (isTokenSecret(secret) ? [ALL] : []));
  const readTracker = async () => {
    try {
      return await client.get(configMaps, { namespace: 'kube-system', name: legacyToken.trackerName });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  /** The pods of a namespace are read once, and only if a token is a candidate. */
  const mountedNames = (): ((secret: Secret) => boolean) => {
    const known = new Map<string, Set<string>>();
    return ({ metadata: { namespace, name } }) => {
      let names = known.get(namespace);
      if (names === undefined)
        known.set(namespace, (names = new Set(podInformer.list(namespace).flatMap((pod) => [...secretNames(pod)]))));
      return names.has(name);
    };
  };
  const sync = async (): Promise<number> => {
    const nowMs = clock.nowMs();
    const plan = planCleaning({
      tracker: await readTracker(),
      secrets: tokens.get(ALL),
      accountOf: (secret) => accounts.get({ namespace: secret.metadata.namespace, name: accountOfToken(secret).name }),
      isMounted: mountedNames(),
      cleanUpMs,
      nowMs,
    });
    const body = { metadata: { labels: { [legacyToken.invalidSince]: dayOf(nowMs) } } };
    for (const secret of plan.markInvalid)
      await unlessGone(client.patch(secrets, keyOf(secret), { type: 'merge', body: withUid(body, secret) }));
    for (const secret of plan.delete) {
      const { resourceVersion } = secret.metadata;
      await unlessGone(
        client.delete(secrets, keyOf(secret), {
          ...(resourceVersion !== undefined && { preconditions: { resourceVersion } }),
        }),
      );
    }
    return EVERY_MS;
  };
  const queue = new RateLimitingQueue({ name: 'legacy-token-cleaner', clock, log, workers: 1, sync });
  const controller = runController({
    name: 'legacy service account token cleaner',
    log,
    queues: [queue],
    informers: [accounts, secretInformer, podInformer],
    ends: [],
  });
  queue.add(ALL);
  return controller;
}

const withUid = ({ metadata }: { readonly metadata: object }, { metadata: { uid } }: Secret): object => ({
  metadata: { ...metadata, uid },
});

/** Ignores that the Secret was changed or deleted in the meantime; the next run handles the rest. */
async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
  }
}
