import { keyOf } from '../../../api/client/resource-type.ts';
import { namespaces, serviceAccounts } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

const NAME = 'default';

/** Maintains the service account `default` in every namespace (upstream: serviceaccount controller). */
export function createServiceAccountController(options: ControllerOptions): Controller {
  const { client, informers, clock, log } = options;
  const spaces = informers.for(namespaces);
  const accounts = informers.for(serviceAccounts);
  const sync = async (namespace: string): Promise<void> => {
    const space = spaces.get({ namespace: '', name: namespace });
    if (
      space === undefined ||
      space.metadata.deletionTimestamp !== undefined ||
      accounts.get({ namespace, name: NAME }) !== undefined
    )
      return;
    try {
      await client.create(serviceAccounts, { metadata: { name: NAME, namespace, uid: '' } });
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'serviceaccount', clock, log, workers: 1, sync });
  const ends = [
    spaces.addHandlers({
      onAdd: (space) => queue.add(space.metadata.name),
      onUpdate: (_, space) => queue.add(space.metadata.name),
    }),
    accounts.addHandlers({
      onDelete: (account) => keyOf(account).name === NAME && queue.add(account.metadata.namespace),
    }),
  ];
  return runController({
    name: 'service account controller',
    log,
    queues: [queue],
    informers: [spaces, accounts],
    ends,
  });
}
