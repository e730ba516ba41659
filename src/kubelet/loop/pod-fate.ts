import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import { podUid } from '../model/ids.ts';

/** What is to become of what a pod left in the runtime: all of it goes, the newest of it stays, or hands off, somebody is at it. */
export function createFateOf(
  workers: () => Pick<PodWorkers, 'stateOf' | 'isBusy'>,
): (uid: string) => 'kept' | 'removed' | 'busy' {
  return (uid) => {
    const state = workers().stateOf(podUid(uid));
    if (state === undefined) return 'removed';
    return workers().isBusy(podUid(uid)) || state.phase === 'terminating' ? 'busy' : 'kept';
  };
}
