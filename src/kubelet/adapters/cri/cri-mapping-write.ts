import type { DeepPartial } from '../../../grpc/message-fns.ts';
import type {
  ContainerConfig as CriContainerConfig,
  LinuxContainerResources,
  Mount as CriMount,
  NamespaceOption,
  PodSandboxConfig,
  SecurityProfile as CriSecurityProfile,
} from '../../../cri/generated/cri-v1.ts';
import {
  MountPropagation,
  NamespaceMode as CriNamespaceMode,
  Protocol,
  SecurityProfile_ProfileType,
  Signal,
  SupplementalGroupsPolicy,
} from '../../../cri/generated/cri-v1.ts';
import { KubeletError } from '../../../base/errors.ts';
import type {
  ContainerConfig,
  LinuxResources,
  Mount,
  NamespaceMode,
  NamespaceOptions,
  SandboxConfig,
  SecurityProfile,
} from '../../ports/runtime.ts';

const namespaceModes: Readonly<Record<NamespaceMode, CriNamespaceMode>> = {
  pod: CriNamespaceMode.POD,
  container: CriNamespaceMode.CONTAINER,
  node: CriNamespaceMode.NODE,
  target: CriNamespaceMode.TARGET,
};

const propagations: Readonly<Record<Mount['propagation'], MountPropagation>> = {
  private: MountPropagation.PROPAGATION_PRIVATE,
  'host-to-container': MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

/**
 * Converts a number to a 64-bit integer. These fields accept whole numbers only, and a fraction from an arithmetic
 * error must not fail a pod.
 */
const int64 = (value: number | undefined): bigint | undefined =>
  value === undefined ? undefined : BigInt(Math.trunc(value));
const wrapped = (value: number | undefined): { value: bigint } | undefined =>
  value === undefined ? undefined : { value: BigInt(Math.trunc(value)) };

/** Returns the mapping, which is the same for users and groups of the pod. It starts at 0 in the container. */
function idMappings(userns: NamespaceOptions['userns']): { hostId: number; containerId: number; length: number }[] {
  return userns?.mode === 'pod' ? [{ hostId: userns.hostId, containerId: 0, length: userns.length }] : [];
}

function toNamespaces(options: NamespaceOptions): DeepPartial<NamespaceOption> {
  const { userns } = options;
  const mapping = idMappings(userns);
  return {
    network: namespaceModes[options.network],
    pid: namespaceModes[options.pid],
    ipc: namespaceModes[options.ipc],
    targetId: options.targetId,
    usernsOptions:
      userns === undefined ? undefined : { mode: namespaceModes[userns.mode], uids: mapping, gids: mapping },
  };
}

function toProfile(profile: SecurityProfile | undefined): DeepPartial<CriSecurityProfile> | undefined {
  if (profile === undefined) return undefined;
  return { profileType: SecurityProfile_ProfileType[profile.type], localhostRef: profile.localhostRef };
}

/**
 * Returns the text for AppArmor profiles from before CRI had a message for them. Runtimes before 1.23 read only this
 * field.
 */
function toOldAppArmor(profile: SecurityProfile | undefined): string {
  switch (profile?.type) {
    case undefined:
      return '';
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Unconfined':
      return 'unconfined';
    case 'Localhost':
      return `localhost/${profile?.localhostRef ?? ''}`;
  }
}

function toGroupsPolicy(policy: 'Merge' | 'Strict' | undefined): SupplementalGroupsPolicy {
  return SupplementalGroupsPolicy[policy ?? 'Merge'];
}

export function toResources(resources: LinuxResources): DeepPartial<LinuxContainerResources> {
  return {
    cpuPeriod: int64(resources.cpuPeriod),
    cpuQuota: int64(resources.cpuQuota),
    cpuShares: int64(resources.cpuShares),
    memoryLimitInBytes: int64(resources.memoryLimitBytes),
    memorySwapLimitInBytes: int64(resources.memorySwapLimitBytes),
    oomScoreAdj: int64(resources.oomScoreAdj),
    cpusetCpus: resources.cpusetCpus,
    cpusetMems: resources.cpusetMems,
    hugepageLimits: resources.hugepageLimits?.map(({ pageSize, limitBytes }) => ({
      pageSize,
      limit: BigInt(Math.trunc(limitBytes)),
    })),
    unified: resources.unified,
  };
}

export function toSandboxConfig(config: SandboxConfig): DeepPartial<PodSandboxConfig> {
  const { security, dns } = config;
  return {
    metadata: { name: config.name, namespace: config.namespace, uid: config.uid, attempt: config.attempt },
    hostname: config.hostname,
    logDirectory: config.logDirectory,
    dnsConfig:
      dns === undefined
        ? undefined
        : { servers: [...dns.servers], searches: [...dns.searches], options: [...dns.options] },
    portMappings: config.portMappings.map(({ protocol, containerPort, hostPort, hostIp }) => ({
      protocol: Protocol[protocol],
      containerPort,
      hostPort,
      hostIp,
    })),
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroupParent: config.cgroupParent,
      sysctls: config.sysctls,
      overhead: config.overhead === undefined ? undefined : toResources(config.overhead),
      resources: config.resources === undefined ? undefined : toResources(config.resources),
      securityContext: {
        namespaceOptions: toNamespaces(security.namespaces),
        selinuxOptions: security.selinux,
        runAsUser: wrapped(security.runAsUser),
        runAsGroup: wrapped(security.runAsGroup),
        readonlyRootfs: security.readOnlyRootFilesystem,
        supplementalGroups: security.supplementalGroups.map(BigInt),
        supplementalGroupsPolicy: toGroupsPolicy(security.supplementalGroupsPolicy),
        privileged: security.privileged,
        seccomp: toProfile(security.seccomp),
        apparmor: toProfile(security.apparmor),
      },
    },
  };
}

/**
 * Converts a mount. The runtime maps the owners of its files, so that they have the numbers that the pod sees
 * (upstream: applyPlatformSpecificContainerConfig).
 */
function toMount(mount: Mount, userns: NamespaceOptions['userns']): DeepPartial<CriMount> {
  const { image } = mount;
  return {
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    readonly: mount.readOnly,
    recursiveReadOnly: mount.recursiveReadOnly,
    selinuxRelabel: mount.selinuxRelabel,
    propagation: propagations[mount.propagation],
    image:
      image === undefined
        ? undefined
        : { image: image.imageRef || image.image, userSpecifiedImage: image.image, imageRef: image.imageRef },
    imageSubPath: image?.subPath,
    uidMappings: idMappings(userns),
    gidMappings: idMappings(userns),
  };
}

function toSignal(name: string | undefined): Signal {
  if (name === undefined || name === '') return Signal.RUNTIME_DEFAULT;
  const known: Readonly<Record<string, Signal>> = Signal;
  const signal = known[name];
  if (signal === undefined)
    throw new KubeletError('Invalid', `the CRI has no signal ${JSON.stringify(name)}`, { op: 'CreateContainer' });
  return signal;
}

/** Converts a container configuration. Throws `Invalid` for a stop signal that CRI does not know. */
export function toContainerConfig(config: ContainerConfig): DeepPartial<CriContainerConfig> {
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: config.image,
    command: [...config.command],
    args: [...config.args],
    workingDir: config.workingDir,
    envs: config.envs.map(({ key, value }) => ({ key, value: Buffer.from(value, 'utf8') })),
    mounts: config.mounts.map((mount) => toMount(mount, config.security.namespaces.userns)),
    devices: config.devices.map(({ hostPath, containerPath, permissions }) => ({
      hostPath,
      containerPath,
      permissions,
    })),
    CDIDevices: (config.cdiDevices ?? []).map((name) => ({ name })),
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: toSignal(config.stopSignal),
    linux: { resources: toResources(config.resources), securityContext: toContainerSecurity(config.security) },
  };
}

type CriContainerSecurity = NonNullable<NonNullable<DeepPartial<CriContainerConfig>['linux']>['securityContext']>;

function toContainerSecurity(security: ContainerConfig['security']): CriContainerSecurity {
  const { capabilities } = security;
  return {
    capabilities:
      capabilities === undefined
        ? undefined
        : { addCapabilities: [...capabilities.add], dropCapabilities: [...capabilities.drop] },
    privileged: security.privileged,
    namespaceOptions: toNamespaces(security.namespaces),
    selinuxOptions: security.selinux,
    runAsUser: wrapped(security.runAsUser),
    runAsUsername: security.runAsUsername,
    runAsGroup: wrapped(security.runAsGroup),
    readonlyRootfs: security.readOnlyRootFilesystem,
    supplementalGroups: security.supplementalGroups.map(BigInt),
    supplementalGroupsPolicy: toGroupsPolicy(security.supplementalGroupsPolicy),
    noNewPrivs: security.noNewPrivs,
    maskedPaths: [...security.maskedPaths],
    readonlyPaths: [...security.readonlyPaths],
    seccomp: toProfile(security.seccomp),
    apparmor: toProfile(security.apparmor),
    apparmorProfile: toOldAppArmor(security.apparmor),
  };
}
