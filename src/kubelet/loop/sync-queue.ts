import type { Pod } from '../../api/core/pod.ts';
import type { PodUid } from '../model/ids.ts';
import type { PodLifecycleEvent } from '../model/pod-lifecycle-event.ts';
import type { ProbeType, ProbeVerdict } from '../model/probe-result.ts';
import type { PodUpdate } from '../model/pod-update.ts';

/** The five kinds of input of the sync loop. */
export type SyncInput =
  | { kind: 'configuration'; update: PodUpdate }
  | { kind: 'pleg'; event: PodLifecycleEvent }
  | { kind: 'sync'; uids: readonly PodUid[] }
  | { kind: 'probe'; podUid: PodUid; type: ProbeType; verdict: ProbeVerdict }
  | { kind: 'housekeeping' };

/**
 * The queue of the sync loop. It is created before all features, so that each can post to it. The loop needs the
 * features, so it is created last and drains the queue.
 * 1. Inputs leave in the order in which they arrived, and none is lost.
 * 2. A clean-up leaves when nothing else waits, because a later input may want a pod that the clean-up would remove.
 *    Several requests are merged into one.
 */
export class SyncQueue {
  readonly #inputs: SyncInput[] = [];
  readonly #listeners = new Set<() => void>();
  #cleanupWaits = false;

  post(input: SyncInput): void {
    if (input.kind === 'housekeeping') this.#cleanupWaits = true;
    else this.#inputs.push(input);
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after each post; returns the function that unsubscribes. */
  onPost(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Removes and returns the next input; undefined when none waits. */
  next(): SyncInput | undefined {
    const input = this.#inputs.shift();
    if (input !== undefined || !this.#cleanupWaits) return input;
    this.#cleanupWaits = false;
    return { kind: 'housekeeping' };
  }

  /** The number of waiting inputs, not counting the clean-up. */
  get size(): number {
    return this.#inputs.length;
  }

  /** Returns the pods of waiting inputs in their latest version. New pods are known only here. */
  waitingPods(): Pod[] {
    const pods = new Map<string, Pod>();
    for (const input of this.#inputs) {
      if (input.kind !== 'configuration') continue;
      for (const pod of input.update.pods) {
        if (input.update.op === 'REMOVE') pods.delete(pod.metadata.uid);
        else pods.set(pod.metadata.uid, pod);
      }
    }
    return [...pods.values()];
  }

  /**
   * Whether a source has reported pods that no handler has processed yet. A pod that looks unwanted may then be wanted.
   */
  configurationWaits(): boolean {
    return this.#inputs.some((input) => input.kind === 'configuration');
  }
}
