import type { Pod } from '../../../../api/core/pod.ts';
import type { LifecycleHandler } from '../../../../api/core/probe.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { findContainer } from '../../../../api/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { restoreFromAnnotations } from '../config/labels.ts';
import type { KillReason } from '../plan/steps.ts';

/**
 * However little grace is left, the runtime gets this much, to avoid needless SIGKILLs (upstream:
 * minimumGracePeriodInSeconds).
 */
export const MIN_RUNTIME_GRACE_MS = 2000;

/** All facts that a kill needs, from the pod or, when that is lost, from the container's annotations. */
export interface KillSpec {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly graceMs: number;
  readonly preStop?: LifecycleHandler;
}

/**
 * The facts for a kill. For a pod that is no longer known, or a container that is not in it, they are restored from the
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
 * The deleter's grace, else a probe's own for a kill by that probe, else the pod's (upstream:
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

/** A pod that only the runtime knows, reconstructed for events and hooks. */
function podOfRecords(status: PodRuntimeStatus): Pod {
  const { uid, name, namespace } = status;
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}
