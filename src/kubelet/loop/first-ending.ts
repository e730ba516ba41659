import type { PodUid } from '../model/ids.ts';
import type { PodEnding } from '../model/pod-ending.ts';

/** Why a part of the agent ended a pod; undefined when it did not. */
interface Endings {
  get(uid: PodUid): PodEnding | undefined;
}

/** Combines several parts: the first one that ended the pod gives the reason. */
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
