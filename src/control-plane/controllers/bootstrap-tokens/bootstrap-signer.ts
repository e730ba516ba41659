import { configMaps, secrets } from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { ignoreApiNotFound } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { isTokenSecret, signingTokenOf, TOKEN_NAMESPACE, withSignatures } from './token-secret.ts';

const infoKey = { namespace: 'kube-public', name: 'cluster-info' };
const ONLY_KEY = 'cluster-info';

/**
 * Signs cluster-info (the public address and CA of the cluster) with each token that allows it, so that a joining node
 * can verify the cluster with its token (upstream: bootstrap-signer-controller). The bootstrap objects include the
 * ConfigMap itself.
 */
export function createBootstrapSigner({ client, informers, clock, log }: ControllerOptions): Controller {
  const maps = informers.for(configMaps);
  const informer = informers.for(secrets);
  const sync = async (): Promise<void> => {
    const info = maps.get(infoKey);
    if (info?.data === undefined) return;
    const nowMs = clock.nowMs();
    const tokens = informer.list(TOKEN_NAMESPACE).flatMap((secret) => signingTokenOf(secret, nowMs) ?? []);
    const data = withSignatures(info.data, tokens);
    if (data === info.data) return;
    await ignoreApiNotFound(client.update(configMaps, { ...info, data: { ...data } }));
  };
  const queue = new RateLimitingQueue({ name: 'bootstrap-signer', clock, log, workers: 1, sync });
  const byMap = ({ metadata }: ConfigMap): void => {
    if (metadata.name === infoKey.name && metadata.namespace === infoKey.namespace) queue.add(ONLY_KEY);
  };
  const bySecret = (secret: Secret): void => {
    if (isTokenSecret(secret)) queue.add(ONLY_KEY);
  };
  const ends = [
    maps.addHandlers({ onAdd: byMap, onUpdate: (_, after) => byMap(after) }),
    informer.addHandlers({ onAdd: bySecret, onUpdate: (_, after) => bySecret(after), onDelete: bySecret }),
  ];
  return runController({ name: 'bootstrap signer', log, queues: [queue], informers: [maps, informer], ends });
}
