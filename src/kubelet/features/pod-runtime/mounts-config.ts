import type { VolumeMount } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isHostNetwork } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodVolumes } from '../../model/pod-volumes.ts';
import type { Mount } from '../../ports/runtime.ts';
import { expandVariables } from './expand.ts';

const etcHosts = '/etc/hosts';

export interface MountFacts {
  volumes: PodVolumes;
  env: ReadonlyMap<string, string>;
  podIps: readonly string[];
  selinuxEnabled: boolean;
  recursiveReadOnlySupported: boolean;
}

/** A mount whose host path is still to be resolved inside its volume. */
export interface PlannedMount {
  mount: Mount;
  volume: string;
  /** In the container's list. */
  index: number;
  /** Relative, without `..`; absent when the whole volume is mounted. */
  subPath?: string;
}

/** The mounts of a container's volumes (upstream: kubelet_pods.go makeMounts). Throws `Invalid` with the message users see. */
export function planVolumeMounts(pod: Pod, container: AnyContainer, facts: MountFacts): PlannedMount[] {
  if ((container.volumeDevices ?? []).length > 0) throw new KubeletError('Invalid', `cannot map block volumes into container "${container.name}": not supported by this agent yet`);
  return (container.volumeMounts ?? []).map((mount, index) => planned(pod, container, { mount, index, facts }));
}

function planned(pod: Pod, container: AnyContainer, { mount, index, facts }: { mount: VolumeMount; index: number; facts: MountFacts }): PlannedMount {
  const volume = facts.volumes.get(mount.name);
  if (volume === undefined) {
    const image = pod.spec.volumes?.find(({ name }) => name === mount.name)?.image !== undefined;
    throw new KubeletError('Invalid', image ? `image volume "${mount.name}" is not supported by this agent yet` : `cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  }
  const subPath = effectiveSubPath(mount, facts.env);
  return {
    volume: mount.name,
    index,
    ...(subPath === '' ? {} : { subPath }),
    mount: {
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: volume.hostPath,
      readOnly: mount.readOnly === true || volume.readOnly,
      recursiveReadOnly: recursiveReadOnly(mount, facts.recursiveReadOnlySupported),
      selinuxRelabel: volume.selinuxRelabel && facts.selinuxEnabled,
      propagation: propagationOf(mount),
    },
  };
}

function effectiveSubPath(mount: VolumeMount, env: ReadonlyMap<string, string>): string {
  let subPath = mount.subPath ?? '';
  if (mount.subPathExpr !== undefined && mount.subPathExpr !== '') {
    const missing = new Set<string>();
    subPath = expandVariables(mount.subPathExpr, (name) => {
      const value = env.get(name) ?? '';
      if (value === '') missing.add(name);
      return value;
    });
    if (missing.size > 0) throw new KubeletError('Invalid', `missing value for ${[...missing].sort().join(', ')}`);
  }
  if (subPath.startsWith('/')) throw new KubeletError('Invalid', `error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..')) throw new KubeletError('Invalid', `unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  return subPath;
}

function recursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const refuse = (why: string): never => {
    throw new KubeletError('Invalid', `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is ${why}`);
  };
  if (mount.readOnly !== true) refuse('not read-only');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') refuse(`not compatible with propagation "${mount.mountPropagation}"`);
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

/** Whether the agent's /etc/hosts is mounted: not over one the container brings, and not before the pod has an address. */
export function needsHostsFile(pod: Pod, container: AnyContainer, podIps: readonly string[]): boolean {
  return (podIps.length > 0 || isHostNetwork(pod)) && !(container.volumeMounts ?? []).some((mount) => mount.mountPath === etcHosts);
}

export function hostsFileMount(hostPath: string, selinuxEnabled: boolean): Mount {
  return { containerPath: etcHosts, hostPath, readOnly: false, selinuxRelabel: selinuxEnabled, propagation: 'private' };
}

/** Where the container writes why it ended; undefined when it names no path. */
export function terminationLogMount(container: AnyContainer, hostPath: string, selinuxEnabled: boolean): Mount | undefined {
  const path = container.terminationMessagePath ?? '';
  if (path === '') return undefined;
  return { containerPath: path.startsWith('/') ? path : `/${path}`, hostPath, readOnly: false, selinuxRelabel: selinuxEnabled, propagation: 'private' };
}
