import type { LabelSelector, ObjectReference } from '../../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume, PersistentVolumePhase } from '../../../../api/core/persistent-volume.ts';

type Mode = NonNullable<PersistentVolume['spec']['accessModes']>[number];

export interface VolumeShape {
  readonly size?: string;
  readonly modes?: readonly Mode[];
  readonly phase?: PersistentVolumePhase;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly claimRef?: ObjectReference;
  readonly leaving?: boolean;
  readonly spec?: Partial<PersistentVolume['spec']>;
}

/** Builds an available volume, by default of 10 Gi. */
export function buildVolume(
  name: string,
  {
    size = '10Gi',
    modes = ['ReadWriteOnce'],
    phase = 'Available',
    labels,
    annotations,
    claimRef,
    leaving = false,
    spec,
  }: VolumeShape = {},
): PersistentVolume {
  return {
    metadata: {
      name,
      namespace: '',
      uid: name,
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['kubernetes.io/pv-protection'] }),
    },
    spec: {
      capacity: { storage: size },
      accessModes: [...modes],
      hostPath: { path: '/data' },
      persistentVolumeReclaimPolicy: 'Retain',
      ...(claimRef !== undefined && { claimRef }),
      ...spec,
    },
    status: { phase },
  };
}

export interface ClaimShape {
  readonly name?: string;
  readonly size?: string;
  readonly modes?: readonly Mode[];
  readonly annotations?: Record<string, string>;
  readonly spec?: Partial<PersistentVolumeClaim['spec']> & { readonly selector?: LabelSelector };
}

/** Builds the claim `default/data`, which requests 5 Gi without a class. */
export function buildClaim({
  name = 'data',
  size = '5Gi',
  modes = ['ReadWriteOnce'],
  annotations,
  spec,
}: ClaimShape): PersistentVolumeClaim {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, ...(annotations !== undefined && { annotations }) },
    spec: { resources: { requests: { storage: size } }, accessModes: [...modes], storageClassName: '', ...spec },
    status: { phase: 'Pending' },
  };
}
