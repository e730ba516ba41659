import { annotations } from '../../../api/annotations.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AppArmorProfile, SeccompProfile, SecurityContext, SELinuxOptions } from '../../../api/core/security-context.ts';
import { allContainers, isHostNetwork } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { ContainerConfig, NamespaceOptions, SandboxConfig, SecurityProfile, SelinuxOptions } from '../../ports/runtime.ts';
import type { ImageUser } from './interfaces.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';

const maskedPaths = [
  '/proc/asound', '/proc/acpi', '/proc/interrupts', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list', '/proc/timer_stats', '/proc/sched_debug',
  '/proc/scsi', '/sys/firmware', '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const maxUid = 2 ** 31 - 1;

export interface SecurityFacts {
  settings: Pick<ContainerSettings, 'rootDir' | 'seccompDefault'>;
  node: Pick<NodeFacts, 'thermalThrottlePaths'>;
  placement: Pick<PodPlacement, 'extraGroups' | 'userns'>;
  imageUser: ImageUser;
  /** Of an ephemeral container: whose processes it wants to see. */
  targetId?: ContainerId;
}

/** The container's own settings over the pod's (upstream: pkg/securitycontext DetermineEffectiveSecurityContext). */
export function effectiveSecurity(pod: Pod, container: AnyContainer): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  const own = Object.fromEntries(Object.entries(container.securityContext ?? {}).filter(([, value]) => value !== undefined && value !== null));
  return { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot, ...own };
}

/** CRI's security context of a container (upstream: kuberuntime/security_context.go). Throws `Invalid`; anything unclear is refused, never weakened. */
export function containerSecurity(pod: Pod, container: AnyContainer, facts: SecurityFacts): ContainerConfig['security'] {
  const effective = effectiveSecurity(pod, container);
  verifyNonRoot(pod, container, effective, facts.imageUser);
  const { capabilities, runAsUser, runAsGroup } = effective;
  const unmasked = effective.procMount === 'Unmasked';
  const namespaces = podNamespaces(pod, facts.placement);
  return {
    capabilities: capabilities === undefined ? undefined : { add: capabilities.add ?? [], drop: capabilities.drop ?? [] },
    privileged: effective.privileged ?? false,
    namespaces: facts.targetId !== undefined && namespaces.pid === 'container' ? { ...namespaces, pid: 'target', targetId: facts.targetId } : namespaces,
    selinux: selinuxOptions(effective.seLinuxOptions),
    ...(runAsUser === undefined ? imageRunAs(facts.imageUser) : { runAsUser }),
    runAsGroup,
    readOnlyRootFilesystem: effective.readOnlyRootFilesystem ?? false,
    supplementalGroups: supplementalGroups(pod, facts.placement),
    supplementalGroupsPolicy: pod.spec.securityContext?.supplementalGroupsPolicy,
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...maskedPaths, ...facts.node.thermalThrottlePaths],
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile, facts.settings),
    apparmor: apparmorProfile(pod, container),
  };
}

function imageRunAs(user: ImageUser): { runAsUser?: number; runAsUsername?: string } {
  if (user.uid !== undefined) return { runAsUser: user.uid };
  // An image that names nobody runs as root.
  return user.username === '' ? { runAsUser: 0 } : { runAsUsername: user.username };
}

/** Refuses to start as root where that is forbidden (upstream: security_context_others.go verifyRunAsNonRoot). A name proves nothing. */
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
  if (image.uid === undefined && image.username !== '') refuse(`container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root`);
  const uid = image.uid ?? 0;
  if (uid === 0) refuse('container has runAsNonRoot and image will run as root');
  if (uid < 0 || uid > maxUid) refuse(`container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${maxUid})): must be between 0 and ${maxUid}, inclusive`);
}

/** `name_namespace(uid)`, as upstream's messages name a pod. */
export function formatPod(pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

function supplementalGroups(pod: Pod, placement: SecurityFacts['placement']): number[] {
  const { fsGroup, supplementalGroups: own = [] } = pod.spec.securityContext ?? {};
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...own, ...(placement.extraGroups ?? [])];
}

function seccompProfile(profile: SeccompProfile | undefined, settings: SecurityFacts['settings']): SecurityProfile {
  if (profile === undefined) return { type: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  if (profile.type !== 'Localhost') return { type: profile.type };
  const name = profile.localhostProfile ?? '';
  if (name === '') throw new KubeletError('Invalid', 'localhostProfile must be set if seccompProfile type is Localhost.');
  // Validation forbids this too; a profile outside the root would let a pod name any file of the host.
  if (name.startsWith('/') || name.split('/').includes('..')) throw new KubeletError('Invalid', `seccomp localhostProfile "${name}" must stay below the seccomp root`);
  return { type: 'Localhost', localhostRef: `${settings.rootDir}/seccomp/${name}` };
}

/** Field of the container, else the old annotation, else field of the pod (upstream: pkg/security/apparmor GetProfile). */
function apparmorProfile(pod: Pod, container: AnyContainer): SecurityProfile | undefined {
  const profile = container.securityContext?.appArmorProfile ?? annotatedApparmor(pod, container) ?? pod.spec.securityContext?.appArmorProfile;
  if (profile === undefined) return undefined;
  if (profile.type !== 'Localhost') return { type: profile.type };
  const name = profile.localhostProfile ?? '';
  if (name === '') throw new KubeletError('Invalid', 'missing localhost apparmor profile name');
  return { type: 'Localhost', localhostRef: name };
}

function annotatedApparmor(pod: Pod, container: AnyContainer): AppArmorProfile | undefined {
  const value = pod.metadata.annotations?.[annotations.appArmorContainerPrefix + container.name];
  if (value === undefined) return undefined;
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (value.startsWith('localhost/')) return { type: 'Localhost', localhostProfile: value.slice('localhost/'.length) };
  throw new KubeletError('Invalid', `unknown apparmor profile "${value}"`);
}

export function selinuxOptions(options: SELinuxOptions | undefined): SelinuxOptions | undefined {
  return options === undefined ? undefined : { user: options.user ?? '', role: options.role ?? '', type: options.type ?? '', level: options.level ?? '' };
}

/** Which namespaces the pod shares with whom (upstream: kuberuntime/util NamespacesForPod). Throws `Invalid` when user namespaces are asked for and not given. */
export function podNamespaces(pod: Pod, placement: Pick<PodPlacement, 'userns'>): NamespaceOptions {
  const { hostPID, hostIPC, shareProcessNamespace, hostUsers } = pod.spec;
  if (hostUsers === false && placement.userns?.mode !== 'pod') throw new KubeletError('Invalid', 'hostUsers: false is set, and no user namespace could be given to the pod');
  return {
    network: isHostNetwork(pod) ? 'node' : 'pod',
    pid: hostPID === true ? 'node' : shareProcessNamespace === true ? 'pod' : 'container',
    ipc: hostIPC === true ? 'node' : 'pod',
    ...(placement.userns === undefined ? {} : { userns: placement.userns }),
  };
}

/** CRI's security context of the sandbox (upstream: kuberuntime_sandbox.go generatePodSandboxLinuxConfig). */
export function sandboxSecurity(pod: Pod, placement: Pick<PodPlacement, 'extraGroups' | 'userns'>): SandboxConfig['security'] {
  const { runAsUser, runAsGroup, seLinuxOptions, supplementalGroupsPolicy } = pod.spec.securityContext ?? {};
  return {
    namespaces: podNamespaces(pod, placement),
    runAsUser,
    runAsGroup,
    supplementalGroups: supplementalGroups(pod, placement),
    supplementalGroupsPolicy,
    privileged: [...allContainers(pod)].some(({ container }) => container.securityContext?.privileged === true),
    readOnlyRootFilesystem: false,
    // Always: the strictest profile of a container must still work with the sandbox's.
    seccomp: { type: 'RuntimeDefault' },
    selinux: selinuxOptions(seLinuxOptions),
  };
}
