import type { PodUid } from '../model/ids.ts';
import type { PodEnding } from '../model/pod-ending.ts';

/** Why a part of the agent ended a pod; undefined when it did not. */
interface Endings {
  get(uid: PodUid): PodEnding | undefined;
}

/** The reason of the first part that ended the pod. */
export function firstEnding(...parts: readonly Endings[]): Endings {
  return {
    get: (uid) => {
      for (const part of parts) {
        const ending = part.get(uid);
        if (ending !== undefined) return ending;
      }
      return undefined;
    },
  };
}
