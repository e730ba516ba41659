import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { endedUnseen, hasBegun } from './ended-unseen.ts';

export interface StatusLists {
  init: readonly ContainerStatus[];
  regular: readonly ContainerStatus[];
  ephemeral: readonly ContainerStatus[];
}

/**
 * Of a pod that is not started again nothing is about to start: what waits has ended, unseen if nobody knows of a run. Only what its turn never
 * came to goes on waiting: init containers behind the one that is not done, and what comes after them all (upstream: status_manager.go
 * TerminatePod).
 */
export function endWaiting(pod: Pod, lists: StatusLists): StatusLists {
  let isReached = true;
  const init = lists.init.map((status) => {
    if (!isReached) return status;
    const final = ended(status);
    isReached = isPassed(pod, final);
    return final;
  });
  const isInitialized = isReached || lists.regular.some(hasBegun);
  return {
    init,
    regular: isInitialized ? lists.regular.map(ended) : lists.regular,
    ephemeral: lists.ephemeral.map(ended),
  };
}

/** Whether the container, as an init container, lets the next one begin. */
function isPassed(pod: Pod, status: ContainerStatus): boolean {
  const isSidecar = (pod.spec.initContainers ?? []).some(
    (container) => container.name === status.name && isRestartableInit(container),
  );
  return isSidecar || status.state?.terminated?.exitCode === 0;
}

/** One that waits ends as it ended last, or unseen if nobody knows whether it ever ran. */
function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.waiting === undefined) return status;
  return { ...status, state: { terminated: status.lastState?.terminated ?? endedUnseen() }, lastState: {} };
}
