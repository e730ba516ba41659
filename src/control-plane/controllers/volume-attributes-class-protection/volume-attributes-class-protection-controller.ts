import {
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';

const FINALIZER = 'kubernetes.io/vac-protection';

const named = (names: readonly (string | undefined)[]): string[] =>
  [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];

/** Returns the desired, current and target classes of a claim. */
const classesOfClaim = ({ spec, status }: PersistentVolumeClaim): string[] =>
  named([
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]);

const classesOfVolume = ({ spec }: PersistentVolume): string[] => named([spec.volumeAttributesClassName]);

/** Keeps classes that claims or volumes use (upstream: vacprotection). */
export function createAttributesClassProtectionController(options: ControllerOptions): Controller {
  const { client, informers, clock, log } = options;
  const classes = informers.for(volumeAttributesClasses);
  const claims = informers.for(persistentVolumeClaims);
  const volumes = informers.for(persistentVolumes);
  const claimsOf = claims.index('volumeAttributesClass', classesOfClaim);
  const volumesOf = volumes.index('volumeAttributesClass', classesOfVolume);
  const sync = async (name: string): Promise<void> => {
    const found = classes.get({ namespace: '', name });
    if (found === undefined) return;
    const { finalizers = [], deletionTimestamp } = found.metadata;
    const isHeld = finalizers.includes(FINALIZER);
    const isUsed = claimsOf.get(name).length > 0 || volumesOf.get(name).length > 0;
    if (deletionTimestamp === undefined ? isHeld : !isHeld || isUsed) return;
    const wanted = isHeld ? finalizers.filter((each) => each !== FINALIZER) : [...finalizers, FINALIZER];
    try {
      await client.update(volumeAttributesClasses, { ...found, metadata: { ...found.metadata, finalizers: wanted } });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'vacprotection', clock, log, workers: 1, sync });
  const wake = (names: readonly string[]): void => names.forEach((name) => queue.add(name));
  /** Only classes that are no longer used need a check. */
  const released = <T>(namesOf: (object: T) => string[]) => ({
    onUpdate: (before: T, after: T): void => {
      const kept = namesOf(after);
      wake(namesOf(before).filter((name) => !kept.includes(name)));
    },
    onDelete: (object: T): void => wake(namesOf(object)),
  });
  const ends = [
    classes.addHandlers({
      onAdd: ({ metadata }) => queue.add(metadata.name),
      onUpdate: (_, { metadata }) => queue.add(metadata.name),
    }),
    claims.addHandlers(released(classesOfClaim)),
    volumes.addHandlers(released(classesOfVolume)),
  ];
  return runController({
    name: 'volume attributes class protection controller',
    log,
    queues: [queue],
    informers: [classes, claims, volumes],
    ends,
  });
}
