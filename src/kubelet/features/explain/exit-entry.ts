import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { TimelineEntry } from '../../../api/explanation/explanation.ts';

/**
 * Computes the timeline entry of a container that ended. Upstream has no event for it, and without the entry the reason
 * of a failed pod would be missing.
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
