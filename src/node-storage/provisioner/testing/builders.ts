import { nodeLabels, storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { PROVISIONER } from '../volume-name.ts';

export const NODE = 'node-1';
export const UID = '3a1d3c52-0000-4000-8000-00000000000a';

export const CLASS: StorageClass = {
  metadata: { name: 'standard', namespace: '', uid: '' },
  provisioner: PROVISIONER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
  allowedTopologies: [{ matchLabelExpressions: [{ key: nodeLabels.hostname, values: [NODE] }] }],
};

export interface ClaimShape {
  readonly name?: string;
  readonly uid?: string;
  readonly size?: string;
  readonly selectedNode?: string | undefined;
  readonly provisioner?: string;
  readonly deleted?: boolean;
  readonly spec?: Partial<PersistentVolumeClaim['spec']>;
}

/** A claim for 1Gi that the scheduler has given to `NODE` and the binder to the provisioner. */
export function claimOf(shape: ClaimShape = {}): PersistentVolumeClaim {
  const { name = 'data', uid = UID, size = '1Gi', provisioner = PROVISIONER, deleted = false, spec = {} } = shape;
  const selectedNode = 'selectedNode' in shape ? shape.selectedNode : NODE;
  return {
    metadata: {
      namespace: 'default',
      name,
      uid,
      annotations: {
        [storageAnnotations.provisioner]: provisioner,
        ...(selectedNode !== undefined && { [storageAnnotations.selectedNode]: selectedNode }),
      },
      ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      storageClassName: CLASS.metadata.name,
      ...spec,
    },
  };
}
