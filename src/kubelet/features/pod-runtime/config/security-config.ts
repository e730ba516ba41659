import type { Pod } from '../../../../api/core/pod.ts';
import type {
  PodSecurityContext,
  SeccompProfile,
  SecurityContext,
  SELinuxOptions,
} from '../../../../api/core/security-context.ts';
import { allContainers, isHostNetwork } from '../../../../api/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { ContainerId } from '../../../model/ids.ts';
import { effectiveAppArmor } from '../../../model/security-checks.ts';
import type {
  ContainerConfig,
  NamespaceOptions,
  SandboxConfig,
  SecurityProfile,
  SelinuxOptions,
} from '../../../ports/runtime.ts';
import type { ImageUser } from '../interfaces.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const MAX_UID = 2 ** 31 - 1;

export interface SecurityFacts {
  readonly settings: Pick<ContainerSettings, 'rootDir' | 'seccompDefault'>;
  readonly node: Pick<NodeFacts, 'thermalThrottlePaths'>;
  readonly placement: Pick<PodPlacement, 'extraGroups' | 'userns'>;
  readonly imageUser: ImageUser;
  /** The container whose processes an ephemeral container shares. */
  readonly targetId?: ContainerId;
}

/**
 * Merges the container's own settings over the pod's, field by field (upstream: pkg/securitycontext
 * DetermineEffectiveSecurityContext).
 */
function effectiveSecurity(pod: Pod, container: AnyContainer): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  return {
    ...givenOnly({ seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot }),
    ...givenOnly(container.securityContext ?? {}),
  };
}

/** Removes null fields. They count as unset: they must neither hide the pod's settings nor count as the number 0. */
function givenOnly<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as Partial<T>;
}

/**
 * Builds CRI's security context of a container (upstream: kuberuntime/security_context.go). Throws `Invalid`. Anything
 * ambiguous is rejected, never weakened.
 */
export function containerSecurity(
  pod: Pod,
  container: AnyContainer,
  facts: SecurityFacts,
): ContainerConfig['security'] {
  const effective = effectiveSecurity(pod, container);
  verifyNonRoot(pod, container, effective, facts.imageUser);
  const { capabilities, runAsUser, runAsGroup } = effective;
  const unmasked = effective.procMount === 'Unmasked';
  const namespaces = podNamespaces(pod, facts.placement);
  return {
    capabilities:
      capabilities === undefined
        ? undefined
        : { add: capabilities.add ?? [], drop: (capabilities.drop ?? []).map(bareCapability) },
    privileged: effective.privileged ?? false,
    namespaces:
      facts.targetId !== undefined && namespaces.pid === 'container'
        ? { ...namespaces, pid: 'target', targetId: facts.targetId }
        : namespaces,
    selinux: selinuxOptions(effective.seLinuxOptions),
    ...(runAsUser === undefined ? imageRunAs(facts.imageUser) : { runAsUser }),
    runAsGroup,
    readOnlyRootFilesystem: effective.readOnlyRootFilesystem ?? false,
    supplementalGroups: [...fsGroupOf(pod), ...ownGroups(pod), ...volumeGroups(pod, facts.placement)],
    supplementalGroupsPolicy: groupsPolicy(pod),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...maskedPaths, ...facts.node.thermalThrottlePaths],
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(
      container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile,
      facts.settings,
    ),
    apparmor: apparmorProfile(pod, container),
  };
}

/**
 * Returns a capability without the prefix `CAP_`, which runtimes add themselves. With the prefix, a runtime would not
 * find the name and so would not drop the capability. Names to add stay unchanged.
 */
function bareCapability(name: string): string {
  return name.replace(/^cap_/i, '');
}

function imageRunAs(user: ImageUser): { runAsUser?: number; runAsUsername?: string } {
  if (user.uid !== undefined) return { runAsUser: user.uid };
  // An image without a user runs as root.
  return user.username === '' ? { runAsUser: 0 } : { runAsUsername: user.username };
}

/**
 * Throws if the container would run as root although that is forbidden (upstream: security_context_others.go
 * verifyRunAsNonRoot). A user name does not prove that the user is not root.
 */
function verifyNonRoot(pod: Pod, container: AnyContainer, effective: SecurityContext, image: ImageUser): void {
  if (effective.runAsNonRoot !== true) return;
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  const refuse = (why: string): never => {
    throw new KubeletError('Invalid', `${why} ${where}`);
  };
  if (effective.runAsUser !== undefined) {
    if (effective.runAsUser === 0) refuse("container's runAsUser breaks non-root policy");
    return;
  }
  if (image.uid === undefined && image.username !== '')
    refuse(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root`,
    );
  const uid = image.uid ?? 0;
  if (uid === 0) refuse('container has runAsNonRoot and image will run as root');
  if (uid < 0 || uid > MAX_UID)
    refuse(
      `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${MAX_UID})): must be between 0 and ${MAX_UID}, inclusive`,
    );
}

/** Formats a pod as `name_namespace(uid)`, as in upstream's messages. */
export function formatPod(pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

function fsGroupOf(pod: Pod): number[] {
  return [pod.spec.securityContext?.fsGroup ?? []].flat();
}

function ownGroups(pod: Pod): readonly number[] {
  return pod.spec.securityContext?.supplementalGroups ?? [];
}

/** Returns the supplemental groups of the pod's volumes (upstream: volumemanager GetExtraSupplementalGroupsForPod). */
function volumeGroups(pod: Pod, { extraGroups = [] }: Pick<PodPlacement, 'extraGroups'>): number[] {
  return extraGroups.filter((group) => !ownGroups(pod).includes(group));
}

function groupsPolicy(pod: Pod): PodSecurityContext['supplementalGroupsPolicy'] {
  const policy = pod.spec.securityContext?.supplementalGroupsPolicy ?? undefined;
  if (policy !== undefined && policy !== 'Merge' && policy !== 'Strict')
    throw new KubeletError('Invalid', `unsupported supplementalGroupsPolicy: ${String(policy)}`);
  return policy;
}

function isProfileType(type: string): type is SecurityProfile['type'] {
  return type === 'RuntimeDefault' || type === 'Unconfined' || type === 'Localhost';
}

/**
 * Returns the seccomp profile (upstream: kuberuntime/helpers.go fieldSeccompProfile). Upstream treats an unknown type
 * as Unconfined; here it is rejected. The old annotations have no effect since 1.27.
 */
function seccompProfile(profile: SeccompProfile | undefined, settings: SecurityFacts['settings']): SecurityProfile {
  if (profile === undefined) return { type: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  if (!isProfileType(profile.type))
    throw new KubeletError('Invalid', `unknown seccomp profile type: ${JSON.stringify(profile.type)}`);
  if (profile.type !== 'Localhost') return { type: profile.type };
  const name = profile.localhostProfile ?? '';
  // An empty name would be read as no profile at all (CVE-2023-2431).
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0)
    throw new KubeletError('Invalid', 'localhostProfile must be set if seccompProfile type is Localhost.');
  // Validation forbids this too; a profile outside the root would let a pod name any file of the host.
  if (name.startsWith('/') || parts.includes('..'))
    throw new KubeletError('Invalid', `seccomp localhostProfile "${name}" must stay below the seccomp root`);
  return { type: 'Localhost', localhostRef: `${settings.rootDir}/seccomp/${parts.join('/')}` };
}

/** Returns the AppArmor profile (upstream: kuberuntime/helpers.go getAppArmorProfile). */
function apparmorProfile(pod: Pod, container: AnyContainer): SecurityProfile | undefined {
  const profile = effectiveAppArmor(pod, container);
  if (profile === undefined) return undefined;
  if (!isProfileType(profile.type))
    throw new KubeletError('Invalid', `unknown apparmor profile type: ${JSON.stringify(profile.type)}`);
  if (profile.type !== 'Localhost') return { type: profile.type };
  const name = profile.localhostProfile ?? '';
  if (name.trim() === '') throw new KubeletError('Invalid', 'missing localhost apparmor profile name');
  return { type: 'Localhost', localhostRef: name };
}

function selinuxOptions(options: SELinuxOptions | undefined): SelinuxOptions | undefined {
  return options === undefined
    ? undefined
    : { user: options.user ?? '', role: options.role ?? '', type: options.type ?? '', level: options.level ?? '' };
}

/**
 * Returns which namespaces the pod shares, and with what (upstream: kuberuntime/util NamespacesForPod). Throws
 * `Invalid` if a user namespace is requested and not available.
 */
function podNamespaces(pod: Pod, placement: Pick<PodPlacement, 'userns'>): NamespaceOptions {
  const { hostPID, hostIPC, shareProcessNamespace, hostUsers } = pod.spec;
  if (hostUsers === false && placement.userns?.mode !== 'pod')
    throw new KubeletError('Invalid', "can't set `spec.hostUsers: false`, runtime does not support user namespaces");
  return {
    network: isHostNetwork(pod) ? 'node' : 'pod',
    pid: hostPID === true ? 'node' : shareProcessNamespace === true ? 'pod' : 'container',
    ipc: hostIPC === true ? 'node' : 'pod',
    userns: hostUsers === false && placement.userns !== undefined ? placement.userns : { mode: 'node' },
  };
}

/** Builds CRI's security context of the sandbox (upstream: kuberuntime_sandbox.go generatePodSandboxLinuxConfig). */
export function sandboxSecurity(
  pod: Pod,
  placement: Pick<PodPlacement, 'extraGroups' | 'userns'>,
): SandboxConfig['security'] {
  const { runAsUser, runAsGroup, seLinuxOptions } = givenOnly(pod.spec.securityContext ?? {});
  return {
    namespaces: podNamespaces(pod, placement),
    runAsUser,
    // CRI forbids a group without a user, and a strict runtime then rejects the sandbox. With upstream, the pod never
    // starts.
    runAsGroup: runAsUser === undefined ? undefined : runAsGroup,
    supplementalGroups: [...fsGroupOf(pod), ...volumeGroups(pod, placement), ...ownGroups(pod)],
    supplementalGroupsPolicy: groupsPolicy(pod),
    privileged: [...allContainers(pod)].some(({ container }) => container.securityContext?.privileged === true),
    readOnlyRootFilesystem: false,
    // The profile is always set, so that the sandbox also works with the strictest profile of a container.
    seccomp: { type: 'RuntimeDefault' },
    selinux: selinuxOptions(seLinuxOptions),
  };
}
