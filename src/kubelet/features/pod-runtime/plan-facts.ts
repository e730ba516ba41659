import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { ContainerRole, KillReason, StepOf } from './steps.ts';

/** All facts the planner needs; it asks nothing and awaits nothing. */
export interface PlanFacts {
  pod: Pod;
  status: PodRuntimeStatus;
  /** The verdict on this very container; undefined when it was never probed. */
  probe: (type: ProbeType, id: ContainerId) => ProbeVerdict | undefined;
  /** What is left of the crash back-off of a container whose newest finished run is `exited`; undefined when it may start now. */
  crashWait: (container: AnyContainer, exited: ContainerRuntimeStatus) => { waitMs: number; delayMs: number } | undefined;
  /** Wall time, for saying until when something waits. */
  nowMs: number;
  /** Says whether all containers are to be reset; by default the runtime's records tell. */
  restartAll?: boolean;
  /** Seam for in-place resize: whether a running container must be restarted for its new resources. Nothing does yet. */
  needsRestartToResize?: (container: Container, actual: ContainerRuntimeStatus) => boolean;
}

/** What the parts of the planner collect. */
export interface Draft {
  kills: StepOf<'killContainer'>[];
  starts: { container: AnyContainer; role: ContainerRole }[];
  /** The pod as a whole is over, or must be stopped. */
  killPod: boolean;
}

export function killStep(actual: ContainerRuntimeStatus, reason: KillReason, message: string): StepOf<'killContainer'> {
  return { kind: 'killContainer', id: actual.id, name: actual.name, reason, message };
}

export function unknownMessage(what: 'Container' | 'Init container'): string {
  return `${what} is in "unknown" state, try killing it before restart`;
}
