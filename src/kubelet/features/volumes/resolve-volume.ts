import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { migratedInline, migratedVolume } from '../../../api/csi-migration.ts';
import { allContainers } from '../../../api/pod.ts';
import { boundVolumeOf } from '../../../api/volume-binding.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';

const PVC_PROTECTION = 'kubernetes.io/pvc-protection';

/**
 * Returns which volumes the containers of the pod use, and how. An unused volume is not set up (upstream: the populator
 * skips it).
 */
export function volumeUses(pod: Pod): { mounts: ReadonlySet<string>; devices: ReadonlySet<string> } {
  const mounts = new Set<string>();
  const devices = new Set<string>();
  for (const { container } of allContainers(pod)) {
    for (const { name } of container.volumeMounts ?? []) mounts.add(name);
    for (const { name } of container.volumeDevices ?? []) devices.add(name);
  }
  return { mounts, devices };
}

/**
 * Returns the spec of an inline volume, or undefined for one that names a claim. A kind that was migrated to a CSI
 * driver becomes that driver's PersistentVolume (upstream: csimigration). Throws `Invalid` if the migration is not
 * possible.
 */
export function inlineSpec(volume: Volume, namespace: string): VolumeSpec | undefined {
  if (claimNameOf({ metadata: { name: '' } }, volume) !== undefined) return undefined;
  const persistentVolume = migratedInline(volume, namespace);
  if (persistentVolume !== undefined)
    return {
      kind: 'persistent',
      // The name becomes a folder name, and some handles are paths (upstream: EscapeQualifiedName).
      name: persistentVolume.metadata.name.replaceAll('/', '~'),
      podVolume: volume.name,
      persistentVolume,
      claim: undefined,
      readOnly: persistentVolume.spec.csi?.readOnly === true,
      mode: 'Filesystem',
      mountOptions: [],
    };
  const source = Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[1];
  const readOnly = typeof source === 'object' && 'readOnly' in source && source.readOnly === true;
  return {
    kind: 'inline',
    name: volume.name,
    podVolume: volume.name,
    volume,
    readOnly,
    mode: 'Filesystem',
    mountOptions: [],
  };
}

/** Returns the name of a volume's claim. That of a generic ephemeral volume consists of pod and volume. */
export function claimNameOf(pod: { metadata: Pick<Pod['metadata'], 'name'> }, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
}

export interface ClaimContext {
  readonly objects: ClusterObjects;
  /**
   * Whether the node is standalone. Claims are then neither bound nor created from templates: they are written
   * manually, and cannot contain the pod's UID.
   */
  readonly standalone: boolean;
}

/**
 * Resolves a volume's claim to its PersistentVolume (upstream: desired_state_of_world_populator.go createVolumeSpec).
 * Throws what users see after `Unable to attach or mount volumes: ... failed to process volumes=[x]: `.
 */
export async function claimedSpec(pod: Pod, volume: Volume, context: ClaimContext): Promise<VolumeSpec> {
  const claimName = claimNameOf(pod, volume) ?? '';
  const { namespace } = pod.metadata;
  const failed = (why: string): KubeletError =>
    new KubeletError('Unavailable', `error processing PVC ${namespace}/${claimName}: ${why}`);
  const claim = await context.objects.get('PersistentVolumeClaim', namespace, claimName);
  if (claim === undefined)
    throw failed(
      `failed to fetch PVC from API server: persistentvolumeclaims "${claimName}" not found${context.standalone && volume.ephemeral !== undefined ? TEMPLATE_HINT : ''}`,
    );
  const unusable = problemOfClaim(claim, context.standalone);
  if (unusable !== undefined) throw failed(unusable);
  if (volume.ephemeral !== undefined && !isMadeFor(claim, pod, context.standalone))
    throw new KubeletError(
      'Unavailable',
      `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  const found = await volumeOf(claim, context);
  if (typeof found === 'string') throw failed(found);
  return persistentSpec({ pod, volume, persistentVolume: migratedVolume(found), claim });
}

/** Returns the PersistentVolume of a claim, or why there is none. */
async function volumeOf(
  claim: PersistentVolumeClaim,
  { objects, standalone }: ClaimContext,
): Promise<PersistentVolume | string> {
  const name = claim.spec.volumeName ?? '';
  if (standalone) {
    const bound = boundVolumeOf(claim, await objects.list('PersistentVolume', ''));
    if (bound !== undefined) return bound;
    if (name === '') return 'PVC is not bound';
  }
  const found = await objects.get('PersistentVolume', '', name);
  if (found === undefined) return `failed to fetch PV ${name} from API server: persistentvolumes "${name}" not found`;
  return problemOfBinding(found, claim) ?? found;
}

const TEMPLATE_HINT =
  ': without an API server it is not created from the template; add a manifest of a PersistentVolumeClaim of this name, owned by the pod';

function problemOfClaim(claim: PersistentVolumeClaim, standalone: boolean): string | undefined {
  if (claim.metadata.deletionTimestamp !== undefined && claim.metadata.finalizers?.includes(PVC_PROTECTION) !== true)
    return 'PVC is being deleted';
  if (standalone) return undefined;
  if (claim.status?.phase !== 'Bound') return 'PVC is not bound';
  return (claim.spec.volumeName ?? '') === '' ? 'PVC has empty pvc.Spec.VolumeName' : undefined;
}

function problemOfBinding({ metadata, spec }: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (spec.claimRef === undefined)
    return `found PV object ${metadata.name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  const [bound = '', own = ''] = [spec.claimRef.uid, claim.metadata.uid];
  return bound === own
    ? undefined
    : `found PV object ${metadata.name} but its pv.Spec.ClaimRef.UID ${bound} does not point to claim.UID ${own}`;
}

/**
 * Whether an ephemeral claim belongs to the pod (upstream: storage/ephemeral VolumeIsForPod). For claims written
 * manually, the pod's name must match.
 */
function isMadeFor(claim: PersistentVolumeClaim, pod: Pod, standalone: boolean): boolean {
  const owner = claim.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return false;
  return owner.uid === pod.metadata.uid || (standalone && owner.kind === 'Pod' && owner.name === pod.metadata.name);
}

function persistentSpec({
  pod,
  volume,
  persistentVolume,
  claim,
}: {
  pod: Pod;
  volume: Volume;
  persistentVolume: PersistentVolume;
  claim: PersistentVolumeClaim;
}): VolumeSpec {
  const mode = persistentVolume.spec.volumeMode ?? 'Filesystem';
  const { mounts, devices } = volumeUses(pod);
  const refuse = (where: string): KubeletError =>
    new KubeletError('Invalid', `volume ${volume.name} has volumeMode ${mode}, but is specified in ${where}`);
  if (mounts.has(volume.name) && mode !== 'Filesystem') throw refuse('volumeMounts');
  if (devices.has(volume.name) && mode !== 'Block') throw refuse('volumeDevices');
  return {
    kind: 'persistent',
    name: persistentVolume.metadata.name,
    podVolume: volume.name,
    persistentVolume,
    claim,
    readOnly: volume.persistentVolumeClaim?.readOnly === true,
    mode,
    mountOptions: mountOptionsOf(persistentVolume),
  };
}

/** Returns the mount options. The annotation is the older form (upstream: volume/util MountOptionFromSpec). */
function mountOptionsOf({ metadata, spec }: PersistentVolume): readonly string[] {
  const annotated = metadata.annotations?.['volume.beta.kubernetes.io/mount-options'];
  return annotated === undefined
    ? (spec.mountOptions ?? [])
    : annotated
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== '');
}

/** Returns the groups that the pod's processes need for the volume. Only numbers count. */
export function extraGroupsOf(spec: VolumeSpec): readonly number[] {
  if (spec.kind === 'inline') return [];
  const text = spec.persistentVolume.metadata.annotations?.['pv.beta.kubernetes.io/gid'] ?? '';
  return /^[0-9]{1,10}$/.test(text) ? [Number(text)] : [];
}
