import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { ContainerId, PodUid } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';

/** What pod-runtime decides about restarts: status and plan must judge alike, so they ask the same functions. */
export interface RestartRules {
  /** Whether a container that is not running is to be started. */
  shouldBeStarted(pod: Pod, container: AnyContainer, newest: ContainerRuntimeStatus | undefined): boolean;
  /** Whether an exit with this code leads to a restart. */
  restartsAfterExit(pod: Pod, container: AnyContainer, exitCode: number): boolean;
  shouldRestartAllContainers(pod: Pod, status: PodRuntimeStatus): boolean;
  needsNewSandbox(pod: Pod, status: PodRuntimeStatus): boolean;
  /** Whether the pod's sandbox is gone and none is made any more: no container of it will ever be started again. */
  isGivenUp(pod: Pod, status: PodRuntimeStatus): boolean;
}

/** Probe verdicts, as the probe manager keeps them. */
export interface ProbeVerdicts {
  /** undefined when that container was never probed so. */
  get(type: ProbeType, id: ContainerId): ProbeVerdict | undefined;
}

/** Why the agent could not start a container at its last try (upstream: the reason cache). */
export interface StartFailures {
  get(uid: PodUid, container: string): { reason: string; message: string } | undefined;
}

/** What is on record of a pod's resources as brought about. */
export interface ActuatedRecords {
  container(name: string): ResourceRequirements | undefined;
  podLevel: ResourceRequirements | undefined;
}
