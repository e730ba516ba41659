import { Buffer } from 'node:buffer';
import { KubeletError } from '../../base/errors.ts';
import { MountPropagation, NamespaceMode, Signal } from '../../cri/generated/cri-v1.ts';
import type {
  ContainerConfig,
  LinuxContainerSecurityContext,
  Mount,
  NamespaceOption,
} from '../../cri/generated/cri-v1.ts';
import type { CreateContainerBody, HostConfig, MountSpec } from '../engine/docker-types.ts';
import { labelKeys, writeLabels } from './docker-labels.ts';
import { dockerResources } from './docker-resources.ts';
import { stripImagePrefix } from './image-names.ts';
import { ownHostConfig, refuseUserNamespace } from './sandbox-body.ts';

export interface ContainerParts {
  readonly config: ContainerConfig;
  readonly sandboxId: string;
  /** The log folder of the sandbox's pod; the container's log path is relative to it. */
  readonly logDirectory: string;
  readonly cgroupParent: string;
  readonly securityOpt: readonly string[];
  readonly createdAtNanos: bigint;
  readonly lowestOomScore: number;
  /** The Docker runtime of the sandbox; empty for the engine's default. */
  readonly runtime: string;
}

/** A container of a pod (cri-dockerd: core/container_create.go). */
export function containerBody(parts: ContainerParts): CreateContainerBody {
  const { config, sandboxId, logDirectory } = parts;
  const security = config.linux?.securityContext;
  const logPath = logDirectory !== '' && config.logPath !== '' ? `${logDirectory}/${config.logPath}` : '';
  return {
    Image: stripImagePrefix(config.image?.image ?? ''),
    ...userOf(security),
    Env: config.envs.map(({ key, value }) => `${key}=${Buffer.from(value).toString('utf8')}`),
    ...(config.command.length > 0 && { Entrypoint: config.command }),
    ...(config.args.length > 0 && { Cmd: config.args }),
    ...(config.workingDir !== '' && { WorkingDir: config.workingDir }),
    Labels: writeLabels(config.labels, config.annotations, {
      [labelKeys.type]: 'container',
      [labelKeys.sandboxId]: sandboxId,
      [labelKeys.logPath]: logPath,
      [labelKeys.createdAt]: String(parts.createdAtNanos),
      [labelKeys.image]: config.image?.userSpecifiedImage || (config.image?.image ?? ''),
    }),
    Tty: config.tty,
    OpenStdin: config.stdin,
    StdinOnce: config.stdinOnce,
    ...(config.stopSignal !== Signal.RUNTIME_DEFAULT && { StopSignal: dockerSignal(config.stopSignal) }),
    // Kubernetes has its own probes; the image's health check would only cost processor time.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: hostConfig(parts, security),
  };
}

function hostConfig(parts: ContainerParts, security: LinuxContainerSecurityContext | undefined): HostConfig {
  const { config, cgroupParent, runtime } = parts;
  const isPrivileged = security?.privileged ?? false;
  return {
    ...ownHostConfig,
    ...dockerResources(config.linux?.resources),
    ...(cgroupParent !== '' && { CgroupParent: cgroupParent }),
    OomScoreAdj: Math.max(Number(config.linux?.resources?.oomScoreAdj ?? 0n), parts.lowestOomScore),
    ...namespaceModes(security?.namespaceOptions, parts.sandboxId),
    Privileged: isPrivileged,
    ReadonlyRootfs: security?.readonlyRootfs ?? false,
    CapAdd: security?.capabilities?.addCapabilities ?? [],
    CapDrop: security?.capabilities?.dropCapabilities ?? [],
    GroupAdd: (security?.supplementalGroups ?? []).map(String),
    SecurityOpt: parts.securityOpt,
    ...mountsOf(config.mounts),
    Devices: config.devices.map(({ hostPath, containerPath, permissions }) => ({
      PathOnHost: hostPath,
      PathInContainer: containerPath,
      CgroupPermissions: permissions,
    })),
    ...(config.CDIDevices.length > 0 && {
      DeviceRequests: [{ Driver: 'cdi', DeviceIDs: config.CDIDevices.map(({ name }) => name) }],
    }),
    ...(!isPrivileged && {
      MaskedPaths: security?.maskedPaths ?? [],
      ReadonlyPaths: security?.readonlyPaths ?? [],
    }),
    ...(runtime !== '' && { Runtime: runtime }),
  };
}

function namespaceModes(options: NamespaceOption | undefined, sandboxId: string): HostConfig {
  refuseUserNamespace(options?.usernsOptions?.mode);
  const sandbox = `container:${sandboxId}`;
  const isHostNetwork = options?.network === NamespaceMode.NODE;
  return {
    NetworkMode: sandbox,
    ...(isHostNetwork && { UTSMode: 'host' }),
    IpcMode: sandbox,
    PidMode: pidMode(options, sandbox),
  };
}

function pidMode(options: NamespaceOption | undefined, sandbox: string): string {
  switch (options?.pid) {
    case NamespaceMode.NODE:
      return 'host';
    case NamespaceMode.TARGET:
      return `container:${options.targetId}`;
    case NamespaceMode.CONTAINER:
      return '';
    default:
      return sandbox;
  }
}

function userOf(security: LinuxContainerSecurityContext | undefined): { readonly User?: string } {
  if (security === undefined) return {};
  const user = security.runAsUser === undefined ? security.runAsUsername : String(security.runAsUser.value);
  const group = security.runAsGroup?.value;
  if (group === undefined) return user === '' ? {} : { User: user };
  if (user === '')
    throw new KubeletError('Invalid', 'the container has a group and no user: Docker needs both, or a user alone');
  return { User: `${user}:${group}` };
}

/** Docker relabels for SELinux only in the older notation, which does not allow colons in paths. */
function mountsOf(mounts: readonly Mount[]): HostConfig {
  const unsupported = mounts.find(({ image }) => image !== undefined && image.image !== '');
  if (unsupported !== undefined)
    throw new KubeletError(
      'Unimplemented',
      `the mount at ${unsupported.containerPath} is an image: Docker cannot mount images, containerd 2 can`,
    );
  const isRelabelled = ({ selinuxRelabel, hostPath, containerPath }: Mount): boolean =>
    selinuxRelabel && !hostPath.includes(':') && !containerPath.includes(':');
  return {
    Mounts: mounts.filter((mount) => !isRelabelled(mount)).map(mountSpec),
    Binds: mounts.filter(isRelabelled).map(bindOf),
  };
}

function mountSpec(mount: Mount): MountSpec {
  return {
    Type: 'bind',
    Source: mount.hostPath,
    Target: mount.containerPath,
    ReadOnly: mount.readonly,
    BindOptions: {
      Propagation: propagations[mount.propagation] ?? '',
      ...(mount.recursiveReadOnly && { ReadOnlyForceRecursive: true }),
    },
  };
}

function bindOf(mount: Mount): string {
  const propagation = propagations[mount.propagation] ?? '';
  const options = [mount.readonly ? 'ro' : 'rw', 'Z', ...(propagation === '' ? [] : [propagation])];
  return `${mount.hostPath}:${mount.containerPath}:${options.join(',')}`;
}

/** Docker's default is private, except for sources that contain its own folder, such as `/`: those become slaves. */
const propagations: Readonly<Record<MountPropagation, string>> = {
  [MountPropagation.PROPAGATION_PRIVATE]: '',
  [MountPropagation.PROPAGATION_HOST_TO_CONTAINER]: 'rslave',
  [MountPropagation.PROPAGATION_BIDIRECTIONAL]: 'rshared',
};

const signalNames = new Map<number, string>(Object.entries(Signal).map(([name, value]) => [value, name]));

/** Docker writes real-time signals with a sign: `SIGRTMIN+3`. */
export function dockerSignal(signal: Signal): string {
  return (signalNames.get(signal) ?? '').replace('PLUS', '+').replace('MINUS', '-');
}

/** `RUNTIME_DEFAULT` for a signal, set by the image or the user, that has no number in the CRI. */
export function criSignal(name: string): Signal {
  const found = Object.entries(Signal).find(([, value]) => dockerSignal(value) === name.toUpperCase());
  return found?.[1] ?? Signal.RUNTIME_DEFAULT;
}
