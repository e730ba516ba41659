import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import { grantedStorage, requestedStorage, wantsExpansion } from '../../../api/claim-size.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';

/**
 * Records an event for a claim that waits for expansion: every expandable kind of volume has an external resizer, as
 * CSI drivers have (upstream: persistentvolume-expander-controller without expandable plugins).
 */
export function createVolumeExpandController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const claims = informers.for(persistentVolumeClaims);
  const volumes = informers.for(persistentVolumes);
  const recorder = createEventRecorder({ ...options, component: 'volume_expand' });
  const sync = (key: string): Promise<void> => {
    const claim = claims.getByKey(key);
    if (claim === undefined || !wantsExpansion(claim)) return Promise.resolve();
    const volume = volumes.get({ namespace: '', name: claim.spec.volumeName ?? '' });
    if (volume?.spec.claimRef?.uid === claim.metadata.uid)
      recorder.event(persistentVolumeClaims, claim, {
        type: 'Normal',
        reason: 'ExternalExpanding',
        message: 'waiting for an external controller to expand this PVC',
      });
    return Promise.resolve();
  };
  const queue = new RateLimitingQueue({ name: 'volume_expand', clock, log, workers: 1, sync });
  const wake = (claim: PersistentVolumeClaim): void => {
    if (wantsExpansion(claim)) queue.add(formatKey(keyOf(claim)));
  };
  /** A claim can be observed before its volume, or before the volume is bound to it. */
  const wakeClaimOf = ({ spec: { claimRef } }: PersistentVolume): void => {
    const claim = claims.get({ namespace: claimRef?.namespace ?? '', name: claimRef?.name ?? '' });
    if (claim !== undefined) wake(claim);
  };
  const ends = [
    volumes.addHandlers({
      onAdd: wakeClaimOf,
      onUpdate: (before, after) => {
        if (before.spec.claimRef?.uid !== after.spec.claimRef?.uid) wakeClaimOf(after);
      },
    }),
    claims.addHandlers({
      onAdd: wake,
      onUpdate: (before, after) => {
        const asksForMore = compareQuantities(requestedStorage(after), requestedStorage(before)) > 0;
        if (asksForMore || compareQuantities(grantedStorage(after), grantedStorage(before)) > 0) wake(after);
      },
    }),
  ];
  return runController({
    name: 'volume expand controller',
    log,
    queues: [queue],
    informers: [claims, volumes],
    ends,
  });
}
