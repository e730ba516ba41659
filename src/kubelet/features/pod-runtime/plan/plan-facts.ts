import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import type { ContainerId } from '../../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { ActuatedFacts, ResizeDraft } from './compute-resize.ts';
import { computeContainerResize } from './compute-resize.ts';
import type { ContainerRole, KillReason, StepOf } from './steps.ts';

/** All facts that the planner needs; it reads nothing else and is synchronous. */
export interface PlanFacts {
  readonly pod: Pod;
  readonly status: PodRuntimeStatus;
  /** The probe result of this very container; undefined when it was never probed. */
  readonly probe: (type: ProbeType, id: ContainerId) => ProbeVerdict | undefined;
  /**
   * The rest of the crash back-off of a container whose newest finished run is `exited`; undefined when it may start
   * now.
   */
  readonly crashWait: (
    container: AnyContainer,
    exited: ContainerRuntimeStatus,
  ) => { waitMs: number; delayMs: number } | undefined;
  /** Wall time, to report until when something waits. */
  readonly nowMs: number;
  /** Whether all containers should be reset; by default read from the runtime's records. */
  readonly restartAll?: boolean;
  /** The actuated resources on record; without it nothing is resized. */
  readonly actuated?: ActuatedFacts;
}

/** What the parts of the planner collect. */
export interface Draft {
  readonly kills: StepOf<'killContainer'>[];
  readonly starts: { container: AnyContainer; role: ContainerRole }[];
  readonly resize: ResizeDraft;
  /** The pod as a whole is over, or must be stopped. */
  killPod: boolean;
}

/**
 * Adds what a running container needs for its resources to the draft; returns true when it must be restarted for them.
 */
export function mustRestartToResize(
  facts: PlanFacts,
  draft: Draft,
  container: Container,
  actual: ContainerRuntimeStatus,
): boolean {
  if (facts.actuated === undefined) return false;
  const resize = computeContainerResize(facts.pod, container, actual, facts.actuated);
  if (resize.kind === 'update') draft.resize.updates.push({ container, actual, changes: resize.changes });
  if (resize.kind !== 'restart') return false;
  draft.resize.restarts = true;
  draft.kills.push(killStep(actual, 'Unknown', `Container ${container.name} resize requires restart`));
  return true;
}

export function killStep(actual: ContainerRuntimeStatus, reason: KillReason, message: string): StepOf<'killContainer'> {
  return { kind: 'killContainer', id: actual.id, name: actual.name, reason, message };
}

export function unknownMessage(what: 'Container' | 'Init container'): string {
  return `${what} is in "unknown" state, try killing it before restart`;
}
