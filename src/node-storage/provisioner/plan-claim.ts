import { nodeLabels, storageAnnotations } from '../../api/annotations.ts';
import { requestedStorage, wantsExpansion } from '../../api/claim-size.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { quantityValue } from '../../api/quantity.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { isVolumeName, PROVISIONER, volumeNameOf } from './volume-name.ts';

/**
 * This finalizer keeps a PersistentVolume until its directory is removed (upstream: external-provisioner's controller
 * library).
 */
export const VOLUME_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';

/** This node, and the objects that the claim refers to. */
export interface ClaimFacts {
  readonly nodeName: string;
  /** The value of the node's label `kubernetes.io/hostname`; undefined while the node has none. */
  readonly hostname: string | undefined;
  readonly storageClass: StorageClass | undefined;
  /** The volume that the claim is bound to. */
  readonly volume: PersistentVolume | undefined;
}

/** What a claim needs from this node. */
export type ClaimPlan =
  | { readonly kind: 'nothing' }
  /** It can never be provisioned as it is; `reason` says what to change. */
  | { readonly kind: 'refuse'; readonly reason: string }
  | { readonly kind: 'provision'; readonly sizeBytes: number; readonly volumeName: string }
  | { readonly kind: 'expand'; readonly sizeBytes: number; readonly size: string; readonly volume: PersistentVolume };

const nothing: ClaimPlan = { kind: 'nothing' };

/**
 * Whether a change of the claim can mean work for this node: the scheduler has selected it, or the claim has a volume,
 * which may be here. Claims that wait for another node wake nothing.
 */
export function mayConcernNode({ metadata, spec }: PersistentVolumeClaim, nodeName: string): boolean {
  return (spec.volumeName ?? '') !== '' || metadata.annotations?.[storageAnnotations.selectedNode] === nodeName;
}

/**
 * A claim belongs to this node in two cases. Unbound: the scheduler has selected this node for the claim's first pod,
 * and the claim's class names this provisioner. Bound: its volume is on this node, and the claim requests more than the
 * volume has.
 */
export function planClaim(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  if (claim.metadata.deletionTimestamp !== undefined) return nothing;
  if ((claim.spec.volumeName ?? '') !== '') return planExpansion(claim, facts);
  const { annotations = {} } = claim.metadata;
  const provisioner = annotations[storageAnnotations.provisioner] ?? annotations[storageAnnotations.betaProvisioner];
  if (provisioner !== PROVISIONER || annotations[storageAnnotations.selectedNode] !== facts.nodeName) return nothing;
  const { storageClass, hostname } = facts;
  if (storageClass?.provisioner !== PROVISIONER || hostname === undefined) return nothing;
  const reason = refusal(claim, storageClass);
  if (reason !== undefined) return { kind: 'refuse', reason };
  const sizeBytes = quantityValue(requestedStorage(claim));
  return { kind: 'provision', sizeBytes, volumeName: volumeNameOf(claim.metadata.uid) };
}

function refusal({ metadata, spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  if (!isVolumeName(volumeNameOf(metadata.uid)))
    return `the uid ${JSON.stringify(metadata.uid)} of the claim is no UUID`;
  if (spec.volumeMode === 'Block') return 'volumes of this provisioner are directories: volumeMode must be Filesystem';
  if (spec.selector !== undefined) return 'claim.spec.selector is not supported';
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined)
    return 'claim.spec.dataSource is not supported: there are no snapshots and no clones';
  if ((storageClass.mountOptions ?? []).length > 0)
    return `mountOptions of StorageClass ${storageClass.metadata.name} are not supported`;
  const [parameter] = Object.keys(storageClass.parameters ?? {});
  if (parameter !== undefined)
    return `parameter ${JSON.stringify(parameter)} of StorageClass ${storageClass.metadata.name} is not known`;
  return undefined;
}

function planExpansion(claim: PersistentVolumeClaim, { volume }: ClaimFacts): ClaimPlan {
  if (volume === undefined || volume.spec.claimRef?.uid !== claim.metadata.uid || !wantsExpansion(claim))
    return nothing;
  const size = requestedStorage(claim);
  return { kind: 'expand', size, sizeBytes: quantityValue(size), volume };
}

/** The PersistentVolume for a directory that exists. */
export function volumeFor(
  claim: PersistentVolumeClaim,
  facts: { readonly storageClass: StorageClass; readonly hostname: string; readonly path: string },
): PersistentVolume {
  const { storageClass, hostname, path } = facts;
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  return {
    metadata: {
      name: volumeNameOf(uid),
      namespace: '',
      uid: '',
      annotations: { [storageAnnotations.provisionedBy]: PROVISIONER },
      finalizers: [VOLUME_FINALIZER],
    },
    spec: {
      capacity: { storage: requestedStorage(claim) },
      accessModes: claim.spec.accessModes ?? [],
      volumeMode: 'Filesystem',
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name,
        uid,
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: nodeLabels.hostname, operator: 'In', values: [hostname] }] }],
        },
      },
    },
  };
}
