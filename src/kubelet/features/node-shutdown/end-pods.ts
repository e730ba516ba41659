import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { podKey } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ShutdownGroup } from './priority-groups.ts';
import { killGraceMs, totalGraceMs } from './priority-groups.ts';

export interface EndPodsParts {
  /** Stops the pod permanently, with this grace period. */
  readonly end: (pod: Pod, graceMs: number) => void;
  /** Whether nothing of the pod runs and its volumes are unmounted. */
  readonly hasFinished: (uid: PodUid) => boolean;
  /** Calls `listener` when the life cycle of a pod advances. Returns a function that unsubscribes. */
  readonly onAdvance: (listener: (uid: PodUid) => void) => () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The additional time of a group, if earlier groups left some. A container that ignores SIGTERM is killed at the end of
 * its grace period, and its pod ends a moment later.
 */
const SETTLE_MS = 2000;

/**
 * Ends the groups one after another. A group begins when all pods of the previous one have ended, or its time is over.
 * All groups together take at most the sum of their times. Stops early when `signal` aborts (upstream: killPods).
 */
export async function endPods(
  parts: EndPodsParts,
  groups: readonly ShutdownGroup[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = parts;
  const endMs = clock.monotonicMs() + totalGraceMs(groups);
  for (const group of groups) {
    if (signal.aborted) return;
    if (group.pods.length === 0) continue;
    log.info('shutdown manager stops a group of pods', {
      priority: group.priority,
      pods: group.pods.map(podKey),
      graceMs: group.graceMs,
    });
    const limitMs = Math.min(group.graceMs + SETTLE_MS, Math.max(group.graceMs, endMs - clock.monotonicMs()));
    for (const pod of group.pods) parts.end(pod, killGraceMs(pod, group));
    const left = await untilFinished(parts, group.pods, { limitMs, signal });
    if (left.length > 0 && !signal.aborted)
      log.warn('Shutdown manager pod killing time out', {
        priority: group.priority,
        graceMs: group.graceMs,
        pods: left.map(podKey),
      });
  }
}

/** Resolves to the pods that have not ended in time. */
function untilFinished(
  { hasFinished, onAdvance, clock }: EndPodsParts,
  pods: readonly Pod[],
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<readonly Pod[]> {
  const left = new Map(pods.map((pod) => [podUid(pod.metadata.uid), pod]));
  for (const uid of left.keys()) if (hasFinished(uid)) left.delete(uid);
  if (left.size === 0) return Promise.resolve([]);
  return new Promise((resolve) => {
    const settle = (): void => {
      unsubscribe();
      timer.cancel();
      signal.removeEventListener('abort', settle);
      resolve([...left.values()]);
    };
    const unsubscribe = onAdvance((uid) => {
      if (left.has(uid) && hasFinished(uid)) left.delete(uid);
      if (left.size === 0) settle();
    });
    const timer = clock.setTimer(limitMs, settle);
    signal.addEventListener('abort', settle, { once: true });
  });
}
