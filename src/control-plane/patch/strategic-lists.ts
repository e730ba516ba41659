import { isRecord } from '../../base/json-record.ts';
import { ApiStatusError, badRequest } from '../../api/status/api-status-error.ts';
import { formatGoValue, isJsonArray } from './json-value.ts';
import type { JsonObject } from './json-value.ts';

/** Lists of a strategic merge patch: matching and ordering of elements. */
interface MergeRule {
  /** The merge key; undefined for lists of scalars, which are merged as sets. */
  readonly mergeKey: string | undefined;
  readonly mergeItem: (original: JsonObject, patch: JsonObject) => JsonObject;
}

const DIRECTIVE = '$patch';
type ItemKind = 'map' | 'scalar';

/**
 * Merges the patch's elements into a list. Elements of the patch come in its order, and other elements keep their
 * relative positions.
 */
export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  rule: MergeRule,
): readonly unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  const kind = kindOfItems([original, patch]);
  if (kind === 'scalar') {
    const merged = [...new Set([...original, ...patch])];
    const wanted = new Set(patch);
    return interleave(
      merged.filter((item) => wanted.has(item)),
      merged.filter((item) => !wanted.has(item)),
      { patchOrder: positions(patch), originalOrder: positions(original), keyOf: (item) => item },
    );
  }
  const { mergeKey } = rule;
  if (mergeKey === undefined) throw new ApiStatusError('Unknown', 'cannot merge lists without merge key for struct');
  const { kept, changes } = applyItemDirectives(
    original as readonly JsonObject[],
    patch as readonly JsonObject[],
    mergeKey,
  );
  const merged = mergeItems(kept, changes, { mergeKey, mergeItem: rule.mergeItem });
  for (const item of merged) keyValue(item, mergeKey);
  const wanted = new Set(changes.map((item) => item[mergeKey]));
  const keyOf = (item: unknown): unknown => (item as JsonObject)[mergeKey];
  const inPatch = merged.filter((item) => wanted.has(item[mergeKey]));
  const others = merged.filter((item) => !wanted.has(item[mergeKey]));
  return interleave(inPatch, others, {
    patchOrder: positions(changes.map(keyOf)),
    originalOrder: positions(kept.map(keyOf)),
    keyOf,
  });
}

/** The maximum number of repeated merges into the same element, whose cost grows with its size. */
const MOST_REPEATS = 100;

function mergeItems(
  kept: readonly JsonObject[],
  changes: readonly JsonObject[],
  { mergeKey, mergeItem }: { readonly mergeKey: string; readonly mergeItem: MergeRule['mergeItem'] },
): JsonObject[] {
  const merged = [...kept];
  const places = new Map<unknown, number>();
  for (const [index, item] of merged.entries())
    if (Object.hasOwn(item, mergeKey) && !places.has(item[mergeKey])) places.set(item[mergeKey], index);
  const seen = new Set<unknown>();
  let repeats = 0;
  for (const change of changes) {
    const key = keyValue(change, mergeKey);
    if (seen.has(key) && ++repeats > MOST_REPEATS)
      throw badRequest(`the patch names elements of a list again more than ${MOST_REPEATS} times`);
    seen.add(key);
    const at = places.get(key);
    const ours = at === undefined ? undefined : merged[at];
    if (at !== undefined && ours !== undefined) merged[at] = mergeItem(ours, change);
    else places.set(key, merged.push(mergeItem({}, change)) - 1);
  }
  return merged;
}

/** Elements with `$patch: delete` remove matching elements; with `replace`, the rest of the patch becomes the list. */
function applyItemDirectives(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { kept: readonly JsonObject[]; changes: readonly JsonObject[] } {
  const changes: JsonObject[] = [];
  const deleted = new Set<unknown>();
  let replace = false;
  for (const item of patch) {
    const wanted = Object.hasOwn(item, DIRECTIVE) ? item[DIRECTIVE] : undefined;
    if (wanted === undefined) changes.push(item);
    else if (wanted === 'delete') deleted.add(keyValue(item, mergeKey));
    else if (wanted === 'replace') replace = true;
    else if (wanted === 'merge')
      throw new ApiStatusError('Unknown', 'merging lists cannot yet be specified in the patch');
    else
      throw new ApiStatusError(
        'Unknown',
        `unknown patch type: ${formatGoValue(wanted)} in map: ${formatGoValue(item)}`,
      );
  }
  if (replace) return { kept: [], changes };
  return {
    kept:
      deleted.size === 0
        ? original
        : original.filter((item) => !Object.hasOwn(item, mergeKey) || !deleted.has(item[mergeKey])),
    changes,
  };
}

export function deleteScalars(list: readonly unknown[], deleted: readonly unknown[]): readonly unknown[] {
  const gone = new Set(deleted);
  return list.filter((item) => !gone.has(item));
}

interface OrderRule {
  readonly order: readonly unknown[];
  readonly mergeKey: string | undefined;
  /** Merges the two lists, when there are two. */
  readonly merge: (() => readonly unknown[]) | undefined;
}

/** Returns a merged list in the order that the patch defines; undefined if there is no list. */
export function orderList(
  before: readonly unknown[] | undefined,
  change: readonly unknown[] | undefined,
  { order, mergeKey, merge }: OrderRule,
): readonly unknown[] | undefined {
  checkOrder(change ?? [], order, mergeKey);
  const list = merge?.() ?? before ?? change;
  if (list === undefined || list.length === 0) return list;
  const kind = kindOfItems([before ?? [], change ?? []]);
  const keyOf = (item: unknown): unknown =>
    mergeKey === undefined || kind === 'scalar' ? item : isRecord(item) ? keyValue(item, mergeKey) : undefined;
  const wanted = positions(order.map(keyOf));
  return interleave(
    list.filter((item) => wanted.has(keyOf(item))),
    list.filter((item) => !wanted.has(keyOf(item))),
    {
      patchOrder: wanted,
      originalOrder: positions(orderAfterDeletions((before ?? []).map(keyOf), change ?? [], keyOf)),
      keyOf,
    },
  );
}

/**
 * Returns the positions of elements as in upstream: added elements take the positions of deleted ones at the end. So an
 * element that only the server has stays before a replacement.
 */
function orderAfterDeletions(
  before: readonly unknown[],
  change: readonly unknown[],
  keyOf: (item: unknown) => unknown,
): readonly unknown[] {
  const known = new Set(before);
  const isDeletion = (item: unknown): boolean => isRecord(item) && item[DIRECTIVE] === 'delete';
  const deleted = new Set(change.filter(isDeletion).map(keyOf));
  if (deleted.size === 0) return before;
  const kept = before.filter((key) => !deleted.has(key));
  const added = change
    .filter((item) => !isDeletion(item))
    .map(keyOf)
    .filter((key) => !known.has(key));
  return [...kept, ...added.slice(0, before.length - kept.length)];
}

/** Checks that the elements of the patch are in the order that it defines. */
function checkOrder(change: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (change.length === 0 || order.length === 0) return;
  const keyOf = (item: unknown): unknown => (mergeKey === undefined ? item : keyValue(asMap(item), mergeKey));
  let at = 0;
  for (const item of change) {
    if (isRecord(item) && Object.hasOwn(item, DIRECTIVE)) continue;
    const key = keyOf(item);
    while (at < order.length && keyOf(order[at]) !== key) at++;
    if (at++ >= order.length) {
      throw new ApiStatusError(
        'Unknown',
        `The order in patch list:\n${formatGoValue(change)}\n doesn't match $setElementOrder list:\n${formatGoValue(order)}\n`,
      );
    }
  }
}

function asMap(item: unknown): JsonObject {
  if (isRecord(item)) return item;
  throw new ApiStatusError('Unknown', `expected a map[string]interface {}, but received a ${typeof item}`);
}

interface Orders {
  readonly patchOrder: ReadonlyMap<unknown, number>;
  readonly originalOrder: ReadonlyMap<unknown, number>;
  readonly keyOf: (item: unknown) => unknown;
}

/**
 * Merges two lists, each in its own order. An element that only the server has comes first if it was before the patch's
 * next one.
 */
function interleave(
  fromPatch: readonly unknown[],
  others: readonly unknown[],
  { patchOrder, originalOrder, keyOf }: Orders,
): readonly unknown[] {
  const place = (order: ReadonlyMap<unknown, number>, item: unknown): number =>
    order.get(keyOf(item)) ?? Number.POSITIVE_INFINITY;
  const byOrder = (items: readonly unknown[], order: ReadonlyMap<unknown, number>): unknown[] =>
    [...items].sort((left, right) => compare(place(order, left), place(order, right)));
  const wanted = byOrder(fromPatch, patchOrder);
  const rest = byOrder(others, originalOrder);
  const out: unknown[] = [];
  let [w, r] = [0, 0];
  while (w < wanted.length || r < rest.length) {
    if (w === wanted.length) out.push(rest[r++]);
    else if (r === rest.length) out.push(wanted[w++]);
    else
      out.push(
        place(originalOrder, rest[r]) < place(originalOrder, wanted[w]) && originalOrder.has(keyOf(wanted[w]))
          ? rest[r++]
          : wanted[w++],
      );
  }
  return out;
}

const compare = (left: number, right: number): number => (left === right ? 0 : left < right ? -1 : 1);

function positions(keys: readonly unknown[]): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>();
  for (const [index, key] of keys.entries()) if (!found.has(key)) found.set(key, index);
  return found;
}

function keyValue(item: JsonObject, mergeKey: string): unknown {
  if (Object.hasOwn(item, mergeKey)) return item[mergeKey];
  throw new ApiStatusError('Unknown', `map: ${formatGoValue(item)} does not contain declared merge key: ${mergeKey}`);
}

/** Returns the kind of the elements, which must be the same for all elements of merged lists. */
function kindOfItems(lists: readonly (readonly unknown[])[]): ItemKind {
  let kind: ItemKind | undefined;
  for (const item of lists.flat(1)) {
    if (isJsonArray(item))
      throw new ApiStatusError(
        'Invalid',
        'the server rejected our request due to an error in our request',
        {},
        { cause: new Error('lists of lists are not supported') },
      );
    const now = isRecord(item) ? 'map' : 'scalar';
    if (kind !== undefined && kind !== now)
      throw new ApiStatusError('Unknown', `list element types are not identical: ${formatGoValue(lists)}`);
    kind = now;
  }
  return kind ?? 'scalar';
}
