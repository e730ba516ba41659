import { nodeLabels, storageAnnotations } from '../../api/annotations.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { VOLUME_FINALIZER } from './plan-claim.ts';
import { isVolumeName, PROVISIONER } from './volume-name.ts';

/** `release`: the object may go and the directory stays, as the policy Retain promises. */
export type VolumePlan = 'nothing' | 'remove' | 'release';

/** What the provisioner of one node knows its volumes by. */
export interface NodeDisk {
  /** The value of the node's label `kubernetes.io/hostname`. */
  readonly hostname: string;
  readonly pathOf: (volumeName: string) => string;
}

/**
 * Whether the provisioner on this node has made the volume. Its path must be the one that the provisioner gives a volume
 * of that name: a path that another user wrote into a volume is never followed.
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

/** What to do with a volume of this node. It is removed once no claim has it and its policy says so. */
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
