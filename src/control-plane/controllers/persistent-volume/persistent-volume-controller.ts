import { storageAnnotations } from '../../../api/annotations.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes, pods, storageClasses } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { claimNames } from '../../../api/pod-references.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import type { StorageParts } from './storage-parts.ts';
import { ClaimSyncer } from './sync-claim.ts';
import { VolumeSyncer } from './sync-volume.ts';
import { hasAnnotation } from './volume-facts.ts';

const claimKey = (claim: { readonly namespace: string; readonly name: string }): string => `claim ${formatKey(claim)}`;
const volumeKey = (name: string): string => `volume ${name}`;

/**
 * Binds claims and volumes to each other (upstream: persistentvolume-binder-controller).
 * 1. The volume is written first, then the claim; a pass that finds only the first write does the second.
 * 2. One pass runs at a time, so that two claims do not select the same volume. A write based on an outdated cache
 *    fails with a conflict and is retried.
 * 3. Only external provisioners create and delete volumes.
 */
export function createPersistentVolumeController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const parts: StorageParts = {
    claims: informers.for(persistentVolumeClaims),
    volumes: informers.for(persistentVolumes),
    classes: informers.for(storageClasses),
    pods: informers.for(pods),
  };
  const claimSyncer = new ClaimSyncer(options, parts);
  const volumeSyncer = new VolumeSyncer(options, parts, (key) => queue.add(claimKey(key)));
  const sync = (key: string): Promise<void> => {
    const name = key.slice(key.indexOf(' ') + 1);
    return key.startsWith('claim ') ? claimSyncer.sync(name) : volumeSyncer.sync(name);
  };
  const queue = new RateLimitingQueue({ name: 'persistent-volume', clock, log, workers: 1, sync });
  return runController({
    name: 'persistent volume controller',
    log,
    queues: [queue],
    informers: Object.values(parts),
    ends: wakeBy(parts, queue),
  });
}

function wakeBy(
  { claims, volumes, classes, pods: podInformer }: StorageParts,
  queue: RateLimitingQueue,
): (() => void)[] {
  const unbound = claims.index('unbound', (claim) =>
    hasAnnotation(claim, storageAnnotations.bindCompleted) ? [] : [''],
  );
  const wakeUnbound = (): void => unbound.get('').forEach((claim) => queue.add(claimKey(keyOf(claim))));
  const wakeClaimOf = ({ spec }: PersistentVolume): void => {
    const { namespace, name } = spec.claimRef ?? {};
    if (namespace !== undefined && name !== undefined) queue.add(claimKey({ namespace, name }));
  };
  const changed = (volume: PersistentVolume): void => {
    queue.add(volumeKey(volume.metadata.name));
    if ((volume.spec.claimRef?.uid ?? '') === '' && volume.metadata.deletionTimestamp === undefined) wakeUnbound();
    else wakeClaimOf(volume);
  };
  const wakeVolumeOf = ({ spec }: PersistentVolumeClaim): void => {
    if ((spec.volumeName ?? '') !== '') queue.add(volumeKey(spec.volumeName ?? ''));
  };
  const waits = (pod: Pod): void => {
    for (const name of claimNames(pod)) {
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim !== undefined && !hasAnnotation(claim, storageAnnotations.bindCompleted))
        queue.add(claimKey(keyOf(claim)));
    }
  };
  return [
    claims.addHandlers({
      onAdd: (claim) => queue.add(claimKey(keyOf(claim))),
      onUpdate: (before, after) => {
        queue.add(claimKey(keyOf(after)));
        if (before.spec.volumeName !== after.spec.volumeName) wakeVolumeOf(after);
      },
      onDelete: wakeVolumeOf,
    }),
    volumes.addHandlers({ onAdd: changed, onUpdate: (_, after) => changed(after), onDelete: wakeClaimOf }),
    classes.addHandlers({ onAdd: wakeUnbound, onUpdate: wakeUnbound }),
    podInformer.addHandlers({ onAdd: (pod, initial) => !initial && waits(pod) }),
  ];
}
