import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodEvent } from '../../ports/pods-api.ts';

export interface PodSource {
  /** Returns the pods of the node with their latest statuses. */
  pods(): readonly Pod[];
  /** Calls `onChange` for each published status and each removed pod. Returns a function that unsubscribes. */
  watch(onChange: (change: { readonly type: 'MODIFIED' | 'DELETED'; readonly pod: Pod }) => void): () => void;
}

/** The maximum number of waiting events of a watch, beyond the first list (upstream: 100). */
const MAX_WAITING = 1000;

/**
 * Sends each pod as ADDED, then INITIAL_SYNC_COMPLETE, then each change (upstream: apis/pods/server.go WatchPods).
 * Invariants:
 * 1. The first event of a pod is ADDED, the last one is DELETED, and no event follows it.
 * 2. No change between the list and the events is lost, because the watch begins before the list is read.
 * 3. The watch of a client that lets more than a thousand events wait ends with `Unavailable`, and `onDropped` is
 *    called.
 */
export async function* watchPods(
  source: PodSource,
  signal: AbortSignal,
  onDropped: () => void,
): AsyncGenerator<PodEvent> {
  const waiting: PodEvent[] = [];
  const known = new Set<string>();
  let wake: () => void = () => undefined;
  let isTooSlow = false;
  const stop = source.watch(({ type, pod }) => {
    const { uid } = pod.metadata;
    const isKnown = known.has(uid);
    if (type === 'DELETED' && !isKnown) return;
    if (waiting.length >= MAX_WAITING) isTooSlow = true;
    else
      waiting.push(type === 'DELETED' ? { type, pod: nameOnly(pod) } : { type: isKnown ? 'MODIFIED' : 'ADDED', pod });
    if (type === 'DELETED') known.delete(uid);
    else known.add(uid);
    wake();
  });
  const abort = (): void => wake();
  signal.addEventListener('abort', abort, { once: true });
  try {
    const first = [...source.pods()].sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1));
    for (const { metadata } of first) known.add(metadata.uid);
    for (const pod of first) yield { type: 'ADDED', pod };
    yield { type: 'INITIAL_SYNC_COMPLETE' };
    while (!signal.aborted) {
      if (isTooSlow) {
        onDropped();
        throw new KubeletError('Unavailable', 'the reader of the watch is too slow');
      }
      const event = waiting.shift();
      if (event !== undefined) yield event;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
    signal.removeEventListener('abort', abort);
  }
}

/** Returns only the identity of a removed pod, as upstream sends it. */
function nameOnly({ metadata: { name, namespace, uid } }: Pod): Pod {
  return { metadata: { name, namespace, uid } } as Pod;
}
