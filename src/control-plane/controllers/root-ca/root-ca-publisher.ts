import { configMaps, namespaces } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

const NAME = 'kube-root-ca.crt';
const DESCRIPTION =
  'Pods verify the certificate of the API server with this authority when they connect through its service or as kubernetes.default.svc.';

export interface RootCaOptions extends ControllerOptions {
  /** The CA of the API server's certificate, as PEM. */
  readonly rootCa: string;
}

/**
 * Maintains a ConfigMap with the CA of the API server in every namespace; changes are reverted (upstream:
 * rootcacertpublisher).
 */
export function createRootCaPublisher({ client, informers, clock, log, rootCa }: RootCaOptions): Controller {
  const spaces = informers.for(namespaces);
  const maps = informers.for(configMaps);
  const sync = async (namespace: string): Promise<void> => {
    const space = spaces.get({ namespace: '', name: namespace });
    if (space === undefined || space.metadata.deletionTimestamp !== undefined) return;
    const existing = maps.get({ namespace, name: NAME });
    const annotations = { ...existing?.metadata.annotations, 'kubernetes.io/description': DESCRIPTION };
    if (
      existing?.data?.['ca.crt'] === rootCa &&
      Object.keys(existing.data).length === 1 &&
      existing.metadata.annotations?.['kubernetes.io/description'] === DESCRIPTION
    )
      return;
    try {
      if (existing === undefined)
        await client.create(configMaps, {
          metadata: { name: NAME, namespace, uid: '', annotations },
          data: { 'ca.crt': rootCa },
        });
      else
        await client.update(configMaps, {
          ...existing,
          metadata: { ...existing.metadata, annotations },
          data: { 'ca.crt': rootCa },
        });
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'root-ca', clock, log, workers: 1, sync });
  const wake = ({ metadata }: { readonly metadata: { readonly name: string; readonly namespace: string } }): void => {
    if (metadata.name === NAME) queue.add(metadata.namespace);
  };
  const ends = [
    spaces.addHandlers({
      onAdd: (space) => queue.add(space.metadata.name),
      onUpdate: (_, space) => queue.add(space.metadata.name),
    }),
    maps.addHandlers({ onUpdate: (_, after) => wake(after), onDelete: wake }),
  ];
  return runController({ name: 'root CA publisher', log, queues: [queue], informers: [spaces, maps], ends });
}
