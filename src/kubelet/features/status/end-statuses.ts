import { isRestartableInit } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import { endedUnseen, hasBegun } from './ended-unseen.ts';

export interface StatusLists {
  readonly init: readonly ContainerStatus[];
  readonly regular: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
}

/** The containers of a pod that had their turn to start, and how their statuses end. */
interface Ending {
  end(status: ContainerStatus): ContainerStatus;
  /** The number of init containers, from the first, that had their turn. */
  readonly reachedInit: number;
  /** Whether the regular containers had their turn. */
  readonly isInitialized: boolean;
}

/**
 * Ends the container statuses of a pod that is not started again (upstream: status_manager.go TerminatePod). A
 * container whose turn never came, because init containers before it had not finished, stays as it was.
 * - `given up`: the sandbox is gone and no other is created. Waiting containers end with their last termination, or an
 *   unseen one if no run is known.
 * - `over`: the pod was stopped as a whole. Containers without an end get an unseen one; the first init container
 *   always had its turn.
 */
export function endStatuses(pod: Pod, lists: StatusLists, why: 'given up' | 'over'): StatusLists {
  const { end, reachedInit, isInitialized } = why === 'over' ? whenOver(pod, lists) : whenGivenUp(pod, lists);
  return {
    init: lists.init.map((status, index) => (index < reachedInit ? end(status) : status)),
    regular: isInitialized ? lists.regular.map(end) : lists.regular,
    ephemeral: lists.ephemeral.map(end),
  };
}

function whenGivenUp(pod: Pod, { init, regular }: StatusLists): Ending {
  const end = (status: ContainerStatus): ContainerStatus =>
    status.state?.waiting === undefined
      ? status
      : { ...status, state: { terminated: status.lastState?.terminated ?? endedUnseen() }, lastState: {} };
  const blocking = init.findIndex((status) => !isPassed(pod, end(status)));
  return {
    end,
    reachedInit: blocking === -1 ? init.length : blocking + 1,
    isInitialized: blocking === -1 || regular.some(hasBegun),
  };
}

function whenOver(pod: Pod, { init, regular }: StatusLists): Ending {
  return {
    end: (status) =>
      status.state?.terminated === undefined ? { ...status, state: { terminated: endedUnseen() } } : status,
    reachedInit: Math.max(1, init.findLastIndex(hasBegun) + 1),
    isInitialized: wasInitialized(pod, init, regular),
  };
}

/** Whether this init container allows the next one to start. */
function isPassed(pod: Pod, status: ContainerStatus): boolean {
  const isSidecar = (pod.spec.initContainers ?? []).some(
    (container) => container.name === status.name && isRestartableInit(container),
  );
  return isSidecar || status.state?.terminated?.exitCode === 0;
}

function wasInitialized(pod: Pod, init: readonly ContainerStatus[], regular: readonly ContainerStatus[]): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined || regular.some(hasBegun)) return true;
  const status = init.find(({ name }) => name === last.name);
  if (isRestartableInit(last)) return status?.state?.running !== undefined && status.started === true;
  return [status?.state, status?.lastState].some((state) => state?.terminated?.exitCode === 0);
}
