import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { OomPod } from './oom-place.ts';
import type { OomWatcherParts } from './oom-watcher.ts';
import { OomWatcher } from './oom-watcher.ts';

export interface CreateOomWatcherParts extends Omit<OomWatcherParts, 'pods'> {
  readonly directory: { visible(): Iterable<Pod> };
  readonly cache: {
    get(uid: PodUid): { readonly containers: readonly { readonly id: string; readonly name: string }[] } | undefined;
  };
  /**
   * The cgroup paths of pods; undefined if pods have no cgroups of their own, and then no kill can be attributed to a
   * pod.
   */
  readonly podPaths: { of(pod: Pod): string } | undefined;
}

/** Creates the reporter of processes that the kernel killed for lack of memory, with the pods in which they ran. */
export function createOomWatcher(parts: CreateOomWatcherParts): OomWatcher {
  const { directory, cache, podPaths, ...rest } = parts;
  const placed = (pod: Pod): OomPod[] => {
    if (podPaths === undefined || pod.metadata.uid === undefined) return [];
    try {
      const containers = cache.get(podUid(pod.metadata.uid))?.containers ?? [];
      return [{ pod, path: podPaths.of(pod), containers }];
    } catch {
      return []; // return []; // An invalid UID names no cgroup and has no processes.
    }
  };
  return new OomWatcher({ pods: () => [...directory.visible()].flatMap(placed), ...rest });
}
