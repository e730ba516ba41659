import { terminatedReasons } from '../../../api/reasons.ts';
import type { ContainerStateTerminated, ContainerStatus } from '../../../api/core/pod-status.ts';

/** The exit code of a container whose end was not observed: 128 + SIGKILL, as in upstream. */
export const UNKNOWN_EXIT_CODE = 137;

/** Builds the unobserved end of a container, with upstream's message for the place where it was noticed. */
export function endedUnseen(
  message = 'The container could not be located when the pod was terminated',
): ContainerStateTerminated {
  return { exitCode: UNKNOWN_EXIT_CODE, reason: terminatedReasons.containerStatusUnknown, message };
}

/** Whether the container runs or ran, according to its status. */
export function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}
