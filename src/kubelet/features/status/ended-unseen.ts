import { terminatedReasons } from '../../../api/reasons.ts';
import type { ContainerStateTerminated, ContainerStatus } from '../../../api/core/pod-status.ts';

/** Upstream's convention for a container whose end nobody saw: 128 + SIGKILL. */
export const UNKNOWN_EXIT_CODE = 137;

/** The end of a container that nobody saw end, in upstream's words for where it was missed. */
export function endedUnseen(
  message = 'The container could not be located when the pod was terminated',
): ContainerStateTerminated {
  return { exitCode: UNKNOWN_EXIT_CODE, reason: terminatedReasons.containerStatusUnknown, message };
}

/** It runs or ran, as far as its status tells. */
export function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}
