import { storageAnnotations } from '../../api/annotations.ts';
import {
  csiStorageCapacities,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../api/client/resource-types.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import type { Node } from '../../api/core/node.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { Controller } from '../../control-plane/controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../control-plane/controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../control-plane/controller-runtime/run-controller.ts';
import type { ProvisionerOptions } from './node-disk-provisioner.ts';
import { CAPACITY_NAMESPACE, planCapacity } from './plan-capacity.ts';

/** Nothing reports that the free space of a disk changed (upstream: external-provisioner --capacity-poll-interval). */
const POLL_MS = 60_000;
/** Until the agent has registered the node: claims wait for the capacity. */
const REGISTRATION_POLL_MS = 500;
/** The only key of the queue. */
const DISK = 'disk';

/**
 * Publishes how much space the disk of this node has left, in CSIStorageCapacity objects, one for each class. The
 * scheduler sends no pod with a new claim to a node whose disk has not enough.
 */
export function createCapacityPublisher({
  client,
  clock,
  log,
  informers,
  nodeName,
  disk,
}: ProvisionerOptions): Controller {
  const classes = informers.for(storageClasses);
  const capacities = informers.for(csiStorageCapacities);
  const volumes = informers.for(persistentVolumes);
  const claims = informers.for(persistentVolumeClaims);

  const publish = async (): Promise<number> => {
    const node = await findNode();
    if (node === undefined) return REGISTRATION_POLL_MS;
    const plan = planCapacity({
      node,
      classes: classes.list(),
      existing: capacities.list(CAPACITY_NAMESPACE),
      freeBytes: await disk.freeBytes(),
    });
    for (const each of plan.create) await expecting(['AlreadyExists'], () => client.create(csiStorageCapacities, each));
    for (const each of plan.update)
      await expecting(['Conflict', 'NotFound'], () => client.update(csiStorageCapacities, each));
    for (const each of plan.remove)
      await expecting(['NotFound'], () => client.delete(csiStorageCapacities, keyOf(each)));
    return POLL_MS;
  };

  const findNode = async (): Promise<Node | undefined> => {
    try {
      return await client.get(nodes, { namespace: '', name: nodeName });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  };

  const queue = new RateLimitingQueue({ name: 'node_disk_capacity', clock, log, workers: 1, sync: publish });
  const wake = (): void => queue.add(DISK);
  const ends = [
    classes.addHandlers({ onAdd: wake, onUpdate: wake, onDelete: wake }),
    // Changed or deleted by others.
    capacities.addHandlers({ onUpdate: wake, onDelete: wake }),
    // The data of a volume goes with it.
    volumes.addHandlers({ onDelete: wake }),
    // The provisioner gave the claim back for want of space: the scheduler must not come back with it.
    claims.addHandlers({
      onUpdate: (before, after) => {
        if (isSelected(before, nodeName) && !isSelected(after, nodeName)) wake();
      },
    }),
  ];
  const controller = runController({
    name: 'node disk capacity publisher',
    log,
    queues: [queue],
    informers: [classes, capacities, volumes, claims],
    ends,
  });
  return {
    start: () => {
      controller.start();
      wake();
    },
    stop: () => controller.stop(),
  };
}

const isSelected = ({ metadata }: PersistentVolumeClaim, nodeName: string): boolean =>
  metadata.annotations?.[storageAnnotations.selectedNode] === nodeName;

/** The cache was late: the event that follows wakes the queue again. */
async function expecting(
  kinds: readonly Parameters<typeof isApiError>[1][],
  write: () => Promise<unknown>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!kinds.some((kind) => isApiError(error, kind))) throw error;
  }
}
