import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorKind } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import type { CallOptions, Listed } from '../../ports/runtime.ts';
import type { PodListing } from './diff.ts';
import { groupByPod, listingDiffers } from './diff.ts';
import type { Inspector } from './inspector.ts';
import type { RuntimeReader } from './inspect.ts';
import type { RuntimeCache } from './runtime-cache.ts';

/** The time limit of the two lists of a node. */
const LIST_LIMIT_MS = 30_000;
/** The number of concurrent lists by pod, which are used if one list of all pods is too large. */
const LISTS_BY_POD = 8;

export interface RelistOptions {
  readonly clock: Clock;
  readonly runtime: RuntimeReader;
  readonly cache: RuntimeCache;
  readonly inspector: Inspector;
}

/**
 * Compares the whole node with the cache by two calls, and requests an inspection of every pod that differs. Resolves
 * when the lists were compared. `settled` resolves when all inspections of this relist have ended. Rejects if the lists
 * could not be read.
 */
export async function relist(options: RelistOptions): Promise<{ settled: Promise<void>; inspected: number }> {
  const { clock, runtime, cache, inspector } = options;
  const seq = cache.beginObservation();
  const pods = await withDeadline({ clock, limitMs: LIST_LIMIT_MS, op: 'relist' }, (signal) =>
    listNode(runtime, cache, { signal }),
  );
  cache.noteListed(
    [...pods].filter(([uid]) => cache.get(uid) === undefined).map(([uid, listing]) => ({ uid, ...nameOf(listing) })),
  );
  const inspections: Promise<void>[] = [];
  for (const [uid, listing] of pods) {
    const behind = cache.troubleOf(uid) !== undefined || !cache.isRead(uid) || listingDiffers(cache.get(uid), listing);
    if (behind) inspections.push(inspector.catchUp(uid, listing, seq));
  }
  // A removed pod needs no inspection, it is only dropped.
  cache.forgetUnread((uid) => !pods.has(uid));
  for (const { uid, name, namespace } of [...cache.all()])
    if (!pods.has(uid)) cache.commitReading(uid, seq, { name, namespace, sandboxes: [], containers: [] });
  return { settled: Promise.all(inspections).then(() => undefined), inspected: inspections.length };
}

function nameOf({ sandboxes, containers }: PodListing): { name: string; namespace: string } {
  const named = sandboxes[0] ?? containers[0];
  return { name: named?.podName ?? '', namespace: named?.podNamespace ?? '' };
}

async function listNode(
  runtime: RuntimeReader,
  cache: RuntimeCache,
  options: CallOptions,
): Promise<Map<PodUid, PodListing>> {
  const listing = runtime.listContainers({}, options).then(
    (containers) => containers,
    (error: unknown) => {
      // NotFound and timeouts are final. Another error may mean that the list exceeds the message limit, and lists by
      // pod are smaller.
      const kind = errorKind(error);
      if (kind === 'Internal' || kind === 'Invalid') return undefined;
      throw error;
    },
  );
  const [sandboxes, containers] = await Promise.all([runtime.listSandboxes({}, options), listing]);
  if (containers !== undefined) return groupByPod(sandboxes, containers);
  const uids = new Set<PodUid>([
    ...sandboxes.map((sandbox) => sandbox.podUid).filter((uid) => uid !== ''),
    ...Array.from(cache.all(), (pod) => pod.uid),
  ]);
  return groupByPod(sandboxes, await listByPod(runtime, [...uids], options));
}

async function listByPod(runtime: RuntimeReader, uids: PodUid[], options: CallOptions): Promise<Listed[]> {
  const all: Listed[] = [];
  const takeTurns = async (): Promise<void> => {
    for (let uid = uids.pop(); uid !== undefined; uid = uids.pop())
      all.push(...(await runtime.listContainers({ podUid: uid }, options)));
  };
  await Promise.all(Array.from({ length: LISTS_BY_POD }, takeTurns));
  return all;
}
