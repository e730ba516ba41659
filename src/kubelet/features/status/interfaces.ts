import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { ContainerId, PodUid } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';

/** The restart decisions of pod-runtime: status and plan must agree, so both call the same functions. */
export interface RestartRules {
  /** Whether a container that is not running is to be started. */
  shouldBeStarted(pod: Pod, container: AnyContainer, newest: ContainerRuntimeStatus | undefined): boolean;
  /** Whether an exit with this code leads to a restart. */
  restartsAfterExit(pod: Pod, container: AnyContainer, exitCode: number): boolean;
  /** Whether the container was started from another definition (another image). It is replaced under any policy. */
  isDefinitionChanged(container: AnyContainer, actual: ContainerRuntimeStatus): boolean;
  shouldRestartAllContainers(pod: Pod, status: PodRuntimeStatus): boolean;
  needsNewSandbox(pod: Pod, status: PodRuntimeStatus): boolean;
  /** Whether the pod's sandbox is gone and no other is created: none of its containers will be started again. */
  isGivenUp(pod: Pod, status: PodRuntimeStatus): boolean;
}

/** Probe results, as the probe manager keeps them. */
export interface ProbeVerdicts {
  /** Returns the result, or undefined if that container has no result of this probe. */
  get(type: ProbeType, id: ContainerId): ProbeVerdict | undefined;
}

/** Why the last start of a container failed (upstream: the reason cache). */
export interface StartFailures {
  get(uid: PodUid, container: string): { reason: string; message: string } | undefined;
}

/** The recorded actual resources of a pod. */
export interface ActuatedRecords {
  container(name: string): ResourceRequirements | undefined;
  readonly podLevel: ResourceRequirements | undefined;
}

/** The processes that the kernel killed in a pod because memory ran out. */
export interface OomKills {
  /** Returns the usage and the limit at the container's last kill, or undefined without one. */
  containerMessage(id: string): string | undefined;
  readonly condition: PodCondition | undefined;
}
