import type { Pod } from '../../api/core/pod.ts';
import type { PodUid } from '../model/ids.ts';

/**
 * Notifies listeners synchronously of pods whose state may have changed and of removed pods. It is created before all
 * features: they publish changes here, and parts that are created later subscribe.
 */
export class PodChanges {
  readonly #changeListeners = new Set<(uid: PodUid) => void>();
  readonly #goneListeners = new Set<(pod: Pod) => void>();

  /** Notifies listeners that something in the pod's status may have changed. */
  notify(uid: PodUid): void {
    for (const listener of this.#changeListeners) listener(uid);
  }

  /** Notifies listeners that the pod has been removed completely. */
  notifyGone(pod: Pod): void {
    for (const listener of this.#goneListeners) listener(pod);
  }

  /** Adds a listener for changed pods. Returns the function that unsubscribes. */
  onChange(listener: (uid: PodUid) => void): () => void {
    this.#changeListeners.add(listener);
    return () => void this.#changeListeners.delete(listener);
  }

  /** Adds a listener for removed pods. Returns the function that unsubscribes. */
  onGone(listener: (pod: Pod) => void): () => void {
    this.#goneListeners.add(listener);
    return () => void this.#goneListeners.delete(listener);
  }
}
