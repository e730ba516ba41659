/** Checks once, before the pod is started, whether this node supports the pod's security context. */
import type { Pod } from '../../api/core/pod.ts';
import type { AppArmorProfile } from '../../api/core/security-context.ts';
import { annotations } from '../../api/annotations.ts';
import { allContainers } from '../../api/pod.ts';
import type { AnyContainer } from '../../api/pod.ts';
import { podReasons } from '../../api/reasons.ts';

/** A refusal as the pod's status shows it. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/**
 * Returns the AppArmor profile: the field of the container, else the old annotation, else the field of the pod
 * (upstream: pkg/security/apparmor GetProfile); undefined means the runtime's default.
 */
export function effectiveAppArmor(pod: Pod, container: AnyContainer): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    annotatedAppArmor(pod, container) ??
    pod.spec.securityContext?.appArmorProfile
  );
}

const LOCALHOST_PREFIX = 'localhost/';

/**
 * Returns the profile of the annotation, which static pods may still have. If validation would reject the value, the
 * next source applies, as in upstream.
 */
function annotatedAppArmor(pod: Pod, container: AnyContainer): AppArmorProfile | undefined {
  const value = pod.metadata.annotations?.[annotations.appArmorContainerPrefix + container.name];
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  return value?.startsWith(LOCALHOST_PREFIX) === true
    ? { type: 'Localhost', localhostProfile: value.slice(LOCALHOST_PREFIX.length) }
    : undefined;
}

/**
 * Checks the AppArmor profiles (upstream: pkg/security/apparmor validate.go, and lifecycle/handlers.go for the
 * message). The caller must not call it for an admitted pod.
 */
export function checkAppArmor(pod: Pod, host: { appArmorEnabled: boolean }): Refusal | undefined {
  if (!needsAppArmor(pod)) return undefined;
  const refuse = (why: string): Refusal => ({
    reason: podReasons.appArmor,
    message: `Cannot enforce AppArmor: ${why}`,
  });
  if (!host.appArmorEnabled) return refuse('AppArmor is not enabled on the host');
  for (const { container } of allContainers(pod)) {
    const profile = effectiveAppArmor(pod, container);
    if (profile?.type !== 'Localhost') continue;
    const { localhostProfile: name } = profile;
    // Upstream prints its Go type here.
    if (name === undefined || name.trim() === '')
      return refuse(
        `invalid empty AppArmor profile name: ${JSON.stringify(`&AppArmorProfile{Type:Localhost,LocalhostProfile:${name === undefined ? 'nil' : `*${name}`},}`)}`,
      );
  }
  return undefined;
}

/**
 * Whether the pod sets any profile except `Unconfined`, including an annotation of a container that also has the field.
 */
function needsAppArmor(pod: Pod): boolean {
  const confines = (profile: AppArmorProfile | undefined): boolean =>
    profile !== undefined && profile.type !== 'Unconfined';
  if (confines(pod.spec.securityContext?.appArmorProfile)) return true;
  if ([...allContainers(pod)].some(({ container }) => confines(container.securityContext?.appArmorProfile)))
    return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(annotations.appArmorContainerPrefix) && value !== 'unconfined',
  );
}
