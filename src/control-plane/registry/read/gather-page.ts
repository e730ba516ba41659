import type { TurnShare } from '../../../base/turn-share.ts';
import type { ObjectList } from '../cache/object-list.ts';
import type { CachedObject } from '../cache/stored-form.ts';
import type { Selection } from './selection.ts';

/** The number of objects compared with a selection before the turn's share is checked. */
const OBJECTS_PER_REST = 50;

export interface PageScope {
  readonly prefix: string;
  readonly selection: Selection;
  /** The maximum number of items; 0 means no limit. */
  readonly limit: number;
  readonly afterKey: string;
}

export interface GatheredPage {
  readonly items: readonly CachedObject[];
  /** The key of the last item, if there are more. */
  readonly lastKey: string | undefined;
  /** The number of remaining items; with a selection, at least 1. */
  readonly remaining: number;
}

/**
 * Collects the page as of the call, however the list changes later. A selection over many objects takes several turns
 * of the event loop; the first wait copies the references.
 */
export async function gatherPage(
  { prefix, selection, limit, afterKey }: PageScope,
  live: ObjectList,
  pace: Pick<TurnShare, 'rest'>,
  keep: (take: () => ObjectList) => void = () => undefined,
): Promise<GatheredPage> {
  let objects = live;
  let candidates = objects.range(prefix, afterKey);
  const items: CachedObject[] = [];
  let lastKey = '';
  for (let count = 1, next = candidates.next(); next.done !== true; count++, next = candidates.next()) {
    const [key, object] = next.value;
    if (isSelected(selection, object)) {
      if (limit > 0 && items.length === limit) {
        // With a selection, the exact number of remaining items is unknown.
        const remaining = selection.everything ? objects.countAfter(prefix, lastKey) : 1;
        keep(() => (objects === live ? live.snapshot(prefix) : objects));
        return { items, lastKey, remaining };
      }
      items.push(object);
      lastKey = key;
    }
    const rest = !selection.everything && count % OBJECTS_PER_REST === 0 ? pace.rest() : undefined;
    if (rest === undefined) continue;
    if (objects === live) {
      objects = live.snapshot(prefix);
      candidates = objects.range(prefix, key);
    }
    await rest;
  }
  return { items, lastKey: undefined, remaining: 0 };
}

function isSelected({ everything, name, matches }: Selection, { object }: CachedObject): boolean {
  if (name !== undefined && object.metadata.name !== name) return false;
  return everything || matches(object);
}
