import type { Pod } from '../../../../api/core/pod.ts';
import type { LifecycleHandler } from '../../../../api/core/probe.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { findContainer } from '../../../../api/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { restoreFromAnnotations } from '../config/labels.ts';
import type { KillReason } from '../plan/steps.ts';

/**
 * The minimum grace for the runtime, however little is left, to avoid needless SIGKILLs (upstream:
 * minimumGracePeriodInSeconds).
 */
export const MIN_RUNTIME_GRACE_MS = 2000;

/** The facts that a kill needs, from the pod or from the container's annotations. */
export interface KillSpec {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly graceMs: number;
  readonly preStop?: LifecycleHandler;
}

/**
 * Computes the facts for a kill. If the pod is unknown, or the container is not in it, they are restored from the
 * runtime's records.
 */
export function computeKillSpec(
  pod: Pod | undefined,
  status: PodRuntimeStatus,
  actual: ContainerRuntimeStatus,
  reason: KillReason,
): KillSpec {
  const container = pod === undefined ? undefined : findContainer(pod, actual.name)?.container;
  if (pod !== undefined && container !== undefined)
    return { pod, container, graceMs: graceOf(pod, container, reason), preStop: container.lifecycle?.preStop };
  const restored = restoreFromAnnotations(actual.annotations);
  const seconds =
    pod?.metadata.deletionGracePeriodSeconds ?? restored.deletionGraceSeconds ?? restored.terminationGraceSeconds;
  return {
    pod: pod ?? podOfRecords(status),
    container: { name: actual.name, image: actual.image, ports: restored.ports },
    graceMs: seconds === undefined ? MIN_RUNTIME_GRACE_MS : Number(seconds) * 1000,
    preStop: restored.preStop,
  };
}

/**
 * Returns the grace period: of the deletion, else of the probe that causes the kill, else of the pod (upstream:
 * setTerminationGracePeriod).
 */
function graceOf(pod: Pod, container: AnyContainer, reason: KillReason): number {
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion !== undefined) return deletion * 1000;
  const grace = pod.spec.terminationGracePeriodSeconds;
  if (grace === undefined) return MIN_RUNTIME_GRACE_MS;
  const probe =
    reason === 'LivenessProbe'
      ? container.livenessProbe
      : reason === 'StartupProbe'
        ? container.startupProbe
        : undefined;
  return Number(probe?.terminationGracePeriodSeconds ?? grace) * 1000;
}

/** Rebuilds a pod that only the runtime knows, for events and hooks. */
function podOfRecords(status: PodRuntimeStatus): Pod {
  const { uid, name, namespace } = status;
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}
