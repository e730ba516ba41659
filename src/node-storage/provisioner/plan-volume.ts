import { nodeLabels, storageAnnotations } from '../../api/annotations.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { VOLUME_FINALIZER } from './plan-claim.ts';
import { isVolumeName, PROVISIONER } from './volume-name.ts';

/** `release`: the object may be removed and the directory stays, as the policy Retain requires. */
export type VolumePlan = 'nothing' | 'remove' | 'release';

/** How the provisioner of a node recognizes its volumes. */
export interface NodeDisk {
  /** The value of the node's label `kubernetes.io/hostname`. */
  readonly hostname: string;
  readonly pathOf: (volumeName: string) => string;
}

/**
 * Whether the provisioner on this node created the volume. Its path must be the path that the provisioner gives to a
 * volume of that name: a path that another user wrote into a volume is never used.
 */
export function isOwnVolume({ metadata, spec }: PersistentVolume, { hostname, pathOf }: NodeDisk): boolean {
  if (metadata.annotations?.[storageAnnotations.provisionedBy] !== PROVISIONER || !isVolumeName(metadata.name))
    return false;
  return spec.local?.path === pathOf(metadata.name) && isOnNode(spec, hostname);
}

function isOnNode({ nodeAffinity }: PersistentVolume['spec'], hostname: string): boolean {
  return (nodeAffinity?.required?.nodeSelectorTerms ?? []).some(({ matchExpressions = [] }) =>
    matchExpressions.some(
      ({ key, operator, values = [] }) => key === nodeLabels.hostname && operator === 'In' && values.includes(hostname),
    ),
  );
}

/** What to do with a volume of this node. It is removed when no claim uses it and its reclaim policy is Delete. */
export function planVolume({ metadata, spec, status }: PersistentVolume): VolumePlan {
  const isKept = spec.persistentVolumeReclaimPolicy !== 'Delete';
  const isReleased = status?.phase === 'Released' || status?.phase === 'Failed';
  if (isReleased && !isKept) return 'remove';
  const isHeld = metadata.finalizers?.includes(VOLUME_FINALIZER) === true;
  if (metadata.deletionTimestamp === undefined || !isHeld) return 'nothing';
  if (isKept) return 'release';
  // Deleted before a claim was bound to it.
  return status?.phase === 'Available' || status?.phase === 'Pending' ? 'remove' : 'nothing';
}
