import { isRestartableInit } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import { endedUnseen, hasBegun } from './ended-unseen.ts';

/**
 * The containers of a pod that is over, none of them waiting any more (upstream: status_manager.go TerminatePod). What had no chance to begin,
 * because the init containers before it were not done, stays as it was; the first init container always had one.
 */
export function closeStatuses(
  pod: Pod,
  { init, regular }: { init: readonly ContainerStatus[]; regular: readonly ContainerStatus[] },
): { init: ContainerStatus[]; regular: ContainerStatus[] } {
  const close = (status: ContainerStatus): ContainerStatus =>
    status.state?.terminated === undefined ? { ...status, state: { terminated: endedUnseen() } } : status;
  const begun = Math.max(1, init.findLastIndex(hasBegun) + 1);
  return {
    init: init.map((status, index) => (index < begun ? close(status) : status)),
    regular: isInitialized(pod, init, regular) ? regular.map(close) : [...regular],
  };
}

function isInitialized(pod: Pod, init: readonly ContainerStatus[], regular: readonly ContainerStatus[]): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined || regular.some(hasBegun)) return true;
  const status = init.find(({ name }) => name === last.name);
  if (isRestartableInit(last)) return status?.state?.running !== undefined && status.started === true;
  return [status?.state, status?.lastState].some((state) => state?.terminated?.exitCode === 0);
}
