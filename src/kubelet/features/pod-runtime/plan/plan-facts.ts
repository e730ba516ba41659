import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import type { ContainerId } from '../../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { ActuatedFacts, ResizeDraft } from './compute-resize.ts';
import { computeContainerResize } from './compute-resize.ts';
import type { ContainerRole, KillReason, StepOf } from './steps.ts';

/** All facts that the planner needs. It reads nothing else and is synchronous. */
export interface PlanFacts {
  readonly pod: Pod;
  readonly status: PodRuntimeStatus;
  /** Returns the probe result of exactly this container, or undefined if it was never probed. */
  readonly probe: (type: ProbeType, id: ContainerId) => ProbeVerdict | undefined;
  /**
   * Returns the remaining crash back-off of a container whose newest finished run is `exited`, or undefined if it may
   * start now.
   */
  readonly crashWait: (
    container: AnyContainer,
    exited: ContainerRuntimeStatus,
  ) => { waitMs: number; delayMs: number } | undefined;
  /** The wall time, to report until when something waits. */
  readonly nowMs: number;
  /** Whether all containers should be reset. By default this is read from the runtime's records. */
  readonly restartAll?: boolean;
  /** The recorded actuated resources. Without them nothing is resized. */
  readonly actuated?: ActuatedFacts;
}

/** The results that the parts of the planner collect. */
export interface Draft {
  readonly kills: StepOf<'killContainer'>[];
  readonly starts: { container: AnyContainer; role: ContainerRole }[];
  readonly resize: ResizeDraft;
  /** Whether the whole pod is over, or must be stopped. */
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
