import type { PersistentVolumeAccessMode } from '../../../api/core/volume-source.ts';
import type { VolumeLifecycleMode } from '../../../api/storage/csi-driver.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { CsiAccessMode, CsiVolumeCapability } from '../../ports/csi-drivers.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';
import { inlineHandle, said } from './csi-names.ts';

export interface SecretAt {
  readonly namespace: string;
  readonly name: string;
}

/** The content of a volume's source, inline or persistent. */
export interface CsiSource {
  readonly driver: string;
  readonly handle: string;
  readonly lifecycle: VolumeLifecycleMode;
  /** The type of the file system; '' lets the driver choose. */
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly accessModes: readonly PersistentVolumeAccessMode[] | undefined;
  readonly publishSecret: SecretAt | undefined;
  readonly stageSecret: SecretAt | undefined;
  readonly expandSecret: SecretAt | undefined;
}

export function isCsi(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' ? spec.volume.csi !== undefined : spec.persistentVolume.spec.csi !== undefined;
}

export function driverOf(spec: VolumeSpec): string {
  return (spec.kind === 'inline' ? spec.volume.csi?.driver : spec.persistentVolume.spec.csi?.driver) ?? '';
}

export function sourceOf(spec: VolumeSpec, pod: Pod): CsiSource {
  if (spec.kind === 'inline') {
    const source = spec.volume.csi;
    if (source === undefined) throw notFound();
    const secret = source.nodePublishSecretRef?.name;
    return {
      driver: source.driver,
      handle: inlineHandle(pod.metadata.uid, spec.name),
      lifecycle: 'Ephemeral',
      fsType: source.fsType ?? '',
      attributes: source.volumeAttributes ?? {},
      accessModes: undefined,
      publishSecret: secret === undefined ? undefined : { namespace: pod.metadata.namespace, name: secret },
      stageSecret: undefined,
      expandSecret: undefined,
    };
  }
  const source = spec.persistentVolume.spec.csi;
  if (source === undefined) throw notFound();
  return {
    driver: source.driver,
    handle: source.volumeHandle,
    lifecycle: 'Persistent',
    fsType: source.fsType ?? '',
    attributes: source.volumeAttributes ?? {},
    accessModes: spec.persistentVolume.spec.accessModes,
    publishSecret: secretAt(source.nodePublishSecretRef),
    stageSecret: secretAt(source.nodeStageSecretRef),
    expandSecret: secretAt(source.nodeExpandSecretRef),
  };
}

function notFound(): KubeletError {
  return new KubeletError('Invalid', said('volume source not found in volume.Spec'));
}

function secretAt(reference: { name?: string; namespace?: string } | undefined): SecretAt | undefined {
  return reference === undefined ? undefined : { namespace: reference.namespace ?? '', name: reference.name ?? '' };
}

/**
 * Returns the access mode for the driver. A driver that cannot distinguish a single writer from several gets the weaker
 * mode (upstream: csi_client.go).
 */
function toAccessMode(mode: PersistentVolumeAccessMode, singleNodeMultiWriter: boolean): CsiAccessMode {
  switch (mode) {
    case 'ReadWriteOnce':
      return singleNodeMultiWriter ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    case 'ReadWriteOncePod':
      return singleNodeMultiWriter ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
  }
}

export interface CapabilityFacts {
  readonly singleNodeMultiWriter: boolean;
  readonly mountOptions: readonly string[];
  /** The group for a driver that applies it. */
  readonly mountGroup: number | undefined;
}

/** Returns the mount capability. The first access mode of the volume is used; inline volumes are ReadWriteOnce. */
export function mountCapability(source: CsiSource, facts: CapabilityFacts): CsiVolumeCapability {
  const mountGroup = facts.mountGroup === undefined ? '' : String(facts.mountGroup);
  return {
    accessMode: toAccessMode(source.accessModes?.[0] ?? 'ReadWriteOnce', facts.singleNodeMultiWriter),
    access: { kind: 'mount', fsType: source.fsType, mountFlags: facts.mountOptions, mountGroup },
  };
}

export function blockCapability(source: CsiSource, singleNodeMultiWriter: boolean): CsiVolumeCapability {
  return {
    accessMode: toAccessMode(source.accessModes?.[0] ?? 'ReadWriteOnce', singleNodeMultiWriter),
    access: { kind: 'block' },
  };
}

/** Returns the attributes that a driver with podInfoOnMount gets in addition to those of the volume. */
export function podInfo(pod: Pod, lifecycle: VolumeLifecycleMode): Record<string, string> {
  return {
    'csi.storage.k8s.io/pod.name': pod.metadata.name,
    'csi.storage.k8s.io/pod.namespace': pod.metadata.namespace,
    'csi.storage.k8s.io/pod.uid': pod.metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(lifecycle === 'Ephemeral'),
  };
}

export interface OwnershipFacts {
  readonly fsGroup: number | undefined;
  readonly policy: 'ReadWriteOnceWithFSType' | 'File' | 'None';
  readonly readOnly: boolean;
  /** Whether the driver applies the group (VOLUME_MOUNT_GROUP). */
  readonly delegated: boolean;
}

/** Whether the agent changes the group of the volume's files to the pod's fsGroup. */
export function ownsByGroup(source: CsiSource, facts: OwnershipFacts): boolean {
  if (facts.fsGroup === undefined || facts.delegated || facts.readOnly || facts.policy === 'None') return false;
  if (facts.policy === 'File') return true;
  if (source.fsType === '') return false;
  if (source.lifecycle === 'Ephemeral') return true;
  return source.accessModes?.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod') ?? false;
}
