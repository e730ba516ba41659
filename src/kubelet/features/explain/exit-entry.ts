import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { TimelineEntry } from '../../../api/explanation/explanation.ts';

/**
 * The timeline entry of a container that ended: upstream has no event for it, and without the entry a failed pod would
 * not show why.
 */
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
