import type { VolumeMount } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { isHostNetwork } from '../../../../api/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { PodVolumes } from '../../../model/pod-volumes.ts';
import type { ContainerConfig, Mount } from '../../../ports/runtime.ts';
import { ExpandedSize, expandVariables } from '../../../../api/expand-variables.ts';
import type { MountedImage } from './image-volumes.ts';
import { mayHoldSecret } from './secret-variables.ts';

const ETC_HOSTS = '/etc/hosts';

export interface MountFacts {
  readonly volumes: PodVolumes;
  readonly env: ReadonlyMap<string, string>;
  readonly podIps: readonly string[];
  readonly selinuxEnabled: boolean;
  readonly recursiveReadOnlySupported: boolean;
  /** The volumes that the runtime mounts from an image. */
  readonly imageVolumes: ReadonlyMap<string, MountedImage>;
}

/** A mount whose host path is still to be resolved inside its volume. */
export interface PlannedMount {
  readonly mount: Mount;
  readonly volume: string;
  /** The index of the mount in the container's list. */
  readonly index: number;
  /** The part of the volume: a relative path without `..`. It is absent when the whole volume is mounted. */
  readonly subPath?: string;
  /** The part of the volume for messages. Unlike `subPath`, it never contains a value of a Secret. */
  readonly shownSubPath?: string;
}

/**
 * Plans the mounts of a container's volumes (upstream: kubelet_pods.go makeMounts). Throws `Invalid` with the message
 * for users.
 */
export function planVolumeMounts(container: AnyContainer, facts: MountFacts): PlannedMount[] {
  const size = new ExpandedSize();
  return (container.volumeMounts ?? []).map((mount, index) => planned(container, { mount, index, facts, size }));
}

function planned(
  container: AnyContainer,
  { mount, index, facts, size }: { mount: VolumeMount; index: number; facts: MountFacts; size: ExpandedSize },
): PlannedMount {
  const volume = facts.volumes.get(mount.name);
  if (volume === undefined || volume.device === true)
    throw new KubeletError('Invalid', `cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  const { subPath, shown } = effectiveSubPath(container, mount, { env: facts.env, size });
  const image = facts.imageVolumes.get(mount.name);
  return {
    volume: mount.name,
    index,
    // The runtime resolves the part of an image.
    ...(subPath === '' || image !== undefined
      ? {}
      : { subPath, ...(shown === subPath ? {} : { shownSubPath: shown }) }),
    mount: {
      ...(image === undefined ? {} : { image: { ...image, ...(subPath === '' ? {} : { subPath }) } }),
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: volume.hostPath,
      readOnly: mount.readOnly === true || volume.readOnly,
      recursiveReadOnly: recursiveReadOnly(mount, facts.recursiveReadOnlySupported),
      selinuxRelabel: volume.selinuxRelabel && facts.selinuxEnabled,
      propagation: propagationOf(mount),
    },
  };
}

/**
 * Plans the raw devices of a container (upstream: kubelet_pods.go makeBlockVolumes). Throws `Invalid` with the message
 * for users.
 */
export function planDevices(container: AnyContainer, volumes: PodVolumes): ContainerConfig['devices'] {
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    if (!devicePath.startsWith('/'))
      throw new KubeletError('Invalid', `error DevicePath \`${devicePath}\` must be an absolute path`);
    const volume = volumes.get(name);
    if (volume?.device !== true)
      throw new KubeletError('Invalid', `cannot find volume "${name}" to pass into container "${container.name}"`);
    return { hostPath: volume.hostPath, containerPath: devicePath, permissions: volume.readOnly ? 'r' : 'mrw' };
  });
}

/**
 * Resolves the subPath. An invalid path is reported as in upstream, but by its expression if it may contain a Secret.
 */
function effectiveSubPath(
  container: AnyContainer,
  mount: VolumeMount,
  { env, size }: { env: ReadonlyMap<string, string>; size: ExpandedSize },
): { subPath: string; shown: string } {
  let subPath = mount.subPath ?? '';
  let shown = subPath;
  if (mount.subPathExpr !== undefined && mount.subPathExpr !== '') {
    const missing = new Set<string>();
    subPath = expandVariables(
      mount.subPathExpr,
      (name) => {
        const value = env.get(name) ?? '';
        if (value === '') missing.add(name);
        return value;
      },
      size,
    );
    if (missing.size > 0) throw new KubeletError('Invalid', `missing value for ${[...missing].sort().join(', ')}`);
    shown = mayHoldSecret(container, mount.subPathExpr) ? mount.subPathExpr : subPath;
  }
  if (subPath.startsWith('/'))
    throw new KubeletError('Invalid', `error SubPath \`${shown}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw new KubeletError('Invalid', `unable to provision SubPath \`${shown}\`: must not contain '..'`);
  return { subPath, shown };
}

function recursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const refuse = (why: string): never => {
    throw new KubeletError(
      'Invalid',
      `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is ${why}`,
    );
  };
  if (mount.readOnly !== true) refuse('not read-only');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    refuse(`not compatible with propagation "${mount.mountPropagation}"`);
  if (mode === 'Enabled' && !supported) refuse('not supported by the runtime');
  return supported;
}

function propagationOf(mount: VolumeMount): Mount['propagation'] {
  switch (mount.mountPropagation) {
    case 'HostToContainer':
      return 'host-to-container';
    case 'Bidirectional':
      return 'bidirectional';
    case 'None':
    case undefined:
      return 'private';
  }
}

/**
 * Whether to mount the agent's /etc/hosts. It is not mounted over a mount of the container itself, nor before the pod
 * has an address.
 */
export function needsHostsFile(pod: Pod, container: AnyContainer, podIps: readonly string[]): boolean {
  return (
    (podIps.length > 0 || isHostNetwork(pod)) &&
    !(container.volumeMounts ?? []).some((mount) => mount.mountPath === ETC_HOSTS)
  );
}

export function hostsFileMount(hostPath: string, selinuxEnabled: boolean): Mount {
  return {
    containerPath: ETC_HOSTS,
    hostPath,
    readOnly: false,
    selinuxRelabel: selinuxEnabled,
    propagation: 'private',
  };
}

/** Returns the mount of the termination message file, or undefined if the container has none. */
export function terminationLogMount(
  container: AnyContainer,
  hostPath: string,
  selinuxEnabled: boolean,
): Mount | undefined {
  const path = container.terminationMessagePath ?? '';
  if (path === '') return undefined;
  return {
    containerPath: path.startsWith('/') ? path : `/${path}`,
    hostPath,
    readOnly: false,
    selinuxRelabel: selinuxEnabled,
    propagation: 'private',
  };
}
