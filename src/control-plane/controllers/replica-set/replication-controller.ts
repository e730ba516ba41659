import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { replicationControllers } from '../../../api/client/resource-types.ts';
import type { ReplicationController } from '../../../api/core/replication-controller.ts';
import { conflict } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { viewInformer } from '../../controller-runtime/view-informer.ts';
import { createReplicaController } from './replica-set-controller.ts';

/** For API calls, only names and metadata of the viewed object are used. */
const viewType = replicationControllers as unknown as ResourceType<ReplicaSet>;

/** Maintains the desired number of pods of each ReplicationController (upstream: NewReplicationManager). */
export function createReplicationController(options: ControllerOptions): Controller {
  const source = options.informers.for(replicationControllers);
  return createReplicaController(options, {
    name: 'replication',
    type: viewType,
    countsTerminating: false,
    sets: viewInformer(source, viewType, asReplicaSet),
    writeStatus: async (set, status) => {
      const controller = source.get(keyOf(set));
      if (controller === undefined || controller.metadata.resourceVersion !== set.metadata.resourceVersion)
        throw conflict(replicationControllers, set.metadata.name, 'the object has been modified');
      await options.client.update(replicationControllers, { ...controller, status }, { subresource: 'status' });
    },
  });
}

function asReplicaSet({ metadata, spec, status }: ReplicationController): ReplicaSet {
  const { selector, template = { metadata: {}, spec: { containers: [] } }, ...counts } = spec;
  return {
    metadata,
    spec: { ...counts, selector: selector === undefined ? {} : { matchLabels: selector }, template },
    ...(status !== undefined && { status }),
  };
}
