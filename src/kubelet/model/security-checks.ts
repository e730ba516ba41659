/** Whether this node supports a pod's security context; checked once, before the pod is started. */
import type { Pod } from '../../api/core/pod.ts';
import type { AppArmorProfile } from '../../api/core/security-context.ts';
import { annotations } from '../../api/annotations.ts';
import { allContainers } from '../../api/pod.ts';
import type { AnyContainer } from '../../api/pod.ts';
import { podReasons } from '../../api/reasons.ts';

/** As it is shown in the pod's status. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/**
 * Field of the container, else the old annotation, else field of the pod (upstream: pkg/security/apparmor GetProfile).
 * undefined leaves it to the runtime's default.
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
 * Static pods may still have it. A value that validation would reject names no profile, so that the next in order
 * applies, as in upstream.
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
 * Upstream: pkg/security/apparmor validate.go, and lifecycle/handlers.go for the message. An admitted pod is not
 * checked again; the caller ensures that.
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

/** Any profile but `Unconfined`, wherever it is set; also in an annotation of a container that has the field. */
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
