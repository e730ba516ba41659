import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { secrets } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { expiresAtMs, isTokenSecret } from './token-secret.ts';

/** Deletes expired bootstrap tokens (upstream: token-cleaner-controller). */
export function createTokenCleaner({ client, informers, clock, log }: ControllerOptions): Controller {
  const informer = informers.for(secrets);
  const sync = async (key: string): Promise<number | undefined> => {
    const secret = informer.getByKey(key);
    const atMs = secret === undefined ? undefined : expiresAtMs(secret);
    if (secret === undefined || atMs === undefined) return undefined;
    const leftMs = atMs - clock.nowMs();
    if (leftMs > 0) return leftMs;
    try {
      await client.delete(secrets, keyOf(secret), { preconditions: { uid: secret.metadata.uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
    return undefined;
  };
  const queue = new RateLimitingQueue({ name: 'token-cleaner', clock, log, workers: 1, sync });
  const consider = (secret: Secret): void => {
    if (isTokenSecret(secret)) queue.add(formatKey(keyOf(secret)));
  };
  const end = informer.addHandlers({ onAdd: consider, onUpdate: (_, after) => consider(after) });
  return runController({ name: 'token cleaner', log, queues: [queue], informers: [informer], ends: [end] });
}
