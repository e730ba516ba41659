import { createHash } from 'node:crypto';
import type { ClusterTrustBundle } from '../../../api/certificates/cluster-trust-bundle.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { clusterTrustBundles } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';

const SIGNER = 'kubernetes.io/kube-apiserver-serving';
const NAME_HASH_BYTES = 12;

export interface ClusterTrustBundlePublisherOptions extends ControllerOptions {
  /** The CA of the API server's certificate, as PEM. */
  readonly rootCa: string;
}

/**
 * Returns the bundle's name, which derives from the content: a new CA gets a new object (upstream:
 * constructBundleName).
 */
export function apiServerBundleName(rootCa: string): string {
  const hash = createHash('sha256').update(rootCa).digest('hex');
  return `${SIGNER.replaceAll('/', ':')}:${hash.slice(0, 2 * NAME_HASH_BYTES)}`;
}

/**
 * Publishes the CA of the API server as a ClusterTrustBundle for pods. Other bundles of its signer are removed
 * (upstream: clustertrustbundlepublisher).
 */
export function createClusterTrustBundlePublisher({
  client,
  informers,
  clock,
  log,
  rootCa,
}: ClusterTrustBundlePublisherOptions): Controller {
  const bundles = informers.for(clusterTrustBundles);
  const name = apiServerBundleName(rootCa);
  const isOfSigner = ({ spec }: ClusterTrustBundle): boolean => spec.signerName === SIGNER;
  const sync = async (): Promise<void> => {
    await publish(bundles.get({ namespace: '', name }));
    for (const bundle of bundles.list().filter(isOfSigner)) {
      if (bundle.metadata.name === name) continue;
      try {
        await client.delete(clusterTrustBundles, keyOf(bundle));
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    }
  };
  const publish = async (existing: ClusterTrustBundle | undefined): Promise<void> => {
    if (existing?.spec.trustBundle === rootCa) return;
    try {
      if (existing === undefined)
        await client.create(clusterTrustBundles, {
          metadata: { name, namespace: '', uid: '' },
          spec: { signerName: SIGNER, trustBundle: rootCa },
        });
      else await client.update(clusterTrustBundles, { ...existing, spec: { ...existing.spec, trustBundle: rootCa } });
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'cluster-trust-bundle', clock, log, workers: 1, sync });
  const wake = (bundle: ClusterTrustBundle): void => {
    if (isOfSigner(bundle)) queue.add(SIGNER);
  };
  const end = bundles.addHandlers({ onAdd: wake, onUpdate: (_, after) => wake(after), onDelete: wake });
  const controller = runController({
    name: 'cluster trust bundle publisher',
    log,
    queues: [queue],
    informers: [bundles],
    ends: [end],
  });
  return {
    ...controller,
    start: () => {
      controller.start();
      queue.add(SIGNER);
    },
  };
}
