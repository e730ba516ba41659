import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { TimelineEntry } from '../../model/explanation.ts';

/** The line of the record for a container that ended by itself: upstream has no event for it, and without the line a failed pod tells nobody why. */
export function computeExitEntry(
  container: ContainerRuntimeStatus,
): Pick<TimelineEntry, 'kind' | 'type' | 'reason' | 'message'> {
  const { name, exitCode, reason } = container;
  return {
    kind: 'status',
    type: exitCode === 0 ? 'Normal' : 'Warning',
    reason: 'exited',
    message: `Container ${name} ended: exit code ${exitCode}${reason === '' ? '' : ` (${reason})`}.`,
  };
}
