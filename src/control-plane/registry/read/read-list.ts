import { isKind } from '../../../base/errors.ts';
import type { ListOptions } from '../../../api/client/api-client.ts';
import type { TurnShare } from '../../../base/turn-share.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Storage } from '../../storage/storage.ts';
import { formatContinueToken, parseContinueToken } from './continue-token.ts';
import type { ContinueToken } from './continue-token.ts';
import { storagePrefix } from '../definition-index.ts';
import type { KindCache, WatchCache } from '../cache/watch-cache.ts';
import type { ResourceRequest, ServedList } from '../registry.ts';
import { parseSelection } from './selection.ts';
import { gatherPage } from './gather-page.ts';
import type { PageScope } from './gather-page.ts';
import type { ListSnapshotId } from '../cache/list-snapshots.ts';
import type { ObjectList } from '../cache/object-list.ts';
import type { CachedObject } from '../cache/stored-form.ts';
import { parseRevision } from './parse-revision.ts';

/** A page that is being collected. */
interface Page extends PageScope {
  readonly kind: KindCache;
  /** The requested version of the kind. */
  readonly shown: ResourceDefinition;
}
interface Sources {
  readonly cache: WatchCache;
  readonly storage: Storage;
  /** The share of event-loop time for all reads and writes. A list pauses while it selects or decodes many objects. */
  readonly pace: Pick<TurnShare, 'rest'>;
}
interface Gathered {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** The key of the last item, if there are more. */
  readonly lastKey: string | undefined;
  readonly remaining: number | undefined;
}

/** Reads a list with the documented semantics of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue`. */
export async function readList(sources: Sources, request: ResourceRequest, options: ListOptions): Promise<ServedList> {
  const { cache } = sources;
  const { definition, namespace } = request;
  const selection = parseSelection(definition, options);
  const token = continueToken(options);
  const page: Page = {
    kind: cache.kind(definition),
    shown: definition,
    prefix: namespace === '' ? '' : `${namespace}/`,
    selection,
    limit: options.limit ?? 0,
    afterKey: token?.afterKey ?? '',
  };
  const exact = token !== undefined ? token.revision : exactRevision(options);
  let gathered: Gathered;
  if (exact === undefined || exact < 0) {
    await notOlderThan(cache, exact === undefined ? options.resourceVersion : undefined);
    await prepareFields(page, page.kind.objects);
    gathered = await fromCache(sources, page, cache.revision);
  } else {
    await cache.waitFor(exact);
    gathered = await ofRevision(sources, page, exact);
  }
  const { items, revision, lastKey, remaining } = gathered;
  return {
    items,
    resourceVersion: String(revision),
    ...(lastKey !== undefined && { continue: formatContinueToken({ revision, afterKey: lastKey }) }),
    ...(lastKey !== undefined && remaining !== undefined && selection.everything && { remainingItemCount: remaining }),
  };
}

function continueToken({ continue: text, resourceVersion = '' }: ListOptions): ContinueToken | undefined {
  if (text === undefined || text === '') return undefined;
  const token = parseContinueToken(text);
  if (resourceVersion !== '' && resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  return token;
}

/**
 * Returns the exact version that the request requires. A request for pages of a version without `resourceVersionMatch`
 * means exactly that version.
 */
function exactRevision({ resourceVersion, resourceVersionMatch, limit = 0 }: ListOptions): number | undefined {
  const revision = parseRevision(resourceVersion);
  if (resourceVersionMatch === 'Exact') return revision;
  return resourceVersionMatch === undefined && limit > 0 && revision > 0 ? revision : undefined;
}

/**
 * Waits until the cache is new enough. An absent version means the newest, `0` any cached version, and another one at
 * least that version.
 */
export async function notOlderThan(cache: WatchCache, resourceVersion: string | undefined): Promise<void> {
  if (resourceVersion === undefined || resourceVersion === '') await cache.fresh();
  else await cache.waitFor(parseRevision(resourceVersion));
}

/**
 * Reads a list of an exact version. Snapshots contain lists whose first page was read recently, and the cache contains
 * lists that have not changed since; the rest is read from the store. Compacted versions are rejected even if nothing
 * has changed, so that versions expire as in upstream.
 */
async function ofRevision(sources: Sources, page: Page, revision: number): Promise<Gathered> {
  const { cache, storage, pace } = sources;
  const snapshot = cache.snapshots.find(snapshotId(page, revision));
  if (snapshot !== undefined) {
    await prepareFields(page, snapshot);
    return { ...(await gatherPage(page, snapshot, pace)), revision };
  }
  if (page.kind.lastChange > revision) return fromStore(sources, page, revision);
  await mustBeRemembered(storage, page, revision);
  await prepareFields(page, page.kind.objects);
  return page.kind.lastChange > revision ? fromStore(sources, page, revision) : fromCache(sources, page, revision);
}

/** Checks that the store still has the version, with a request that reads nothing. */
async function mustBeRemembered(storage: Storage, page: Page, revision: number): Promise<void> {
  const nothing = `${storagePrefix(page.kind.definition)}\0`;
  await storage
    .list(nothing, { revision, limit: 1, isCounted: false })
    .catch((error: unknown) => refuseForgotten(error, page, page.afterKey));
}

/**
 * Reads a page from the cache. Only a first page stores a snapshot; otherwise repeated requests would keep it forever.
 */
async function fromCache({ cache, pace }: Sources, page: Page, atRevision: number): Promise<Gathered> {
  const revision = Math.max(atRevision, 1);
  const gathered = await gatherPage(page, page.kind.objects, pace, (take) => {
    if (page.afterKey === '') cache.snapshots.keep(snapshotId(page, revision), take);
  });
  return { ...gathered, revision };
}

/** The number of attempts to convert objects that arrive during a conversion. */
const PREPARE_ATTEMPTS = 20;

/** Converts the objects whose fields the selection needs. After it resolves, their fields can be read synchronously. */
async function prepareFields(
  { kind, prefix, selection, shown }: Page,
  objects: Pick<ObjectList, 'range'>,
): Promise<void> {
  if (selection.everything || shown.storedAs?.prepare === undefined) return;
  for (let attempt = 0; attempt < PREPARE_ATTEMPTS; attempt++) {
    const waiting = shown.storedAs.prepare([...objects.range(prefix)].map(([, { object }]) => object));
    if (waiting === undefined) return;
    await waiting;
  }
  throw new ApiStatusError(
    'ServiceUnavailable',
    `objects of ${kind.definition.type.plural} change faster than their conversion webhook answers; please try again`,
  );
}

function snapshotId({ kind, prefix }: Page, revision: number): ListSnapshotId {
  return { place: storagePrefix(kind.definition) + prefix, revision };
}

async function fromStore({ cache, storage, pace }: Sources, page: Page, revision: number): Promise<Gathered> {
  const { kind, selection, limit, shown } = page;
  const place = storagePrefix(kind.definition);
  const items: CachedObject[] = [];
  let afterKey = page.afterKey;
  for (;;) {
    const wanted = limit > 0 ? limit - items.length : 0;
    const stored = await storage
      .list(place + page.prefix, {
        revision,
        ...(wanted > 0 && { limit: wanted }),
        ...(afterKey !== '' && { afterKey: place + afterKey }),
      })
      .catch((error: unknown) => refuseForgotten(error, page, afterKey));
    for (const item of stored.items) {
      await pace.rest();
      const object = cache.decode(kind.definition, item);
      if (object === undefined) continue;
      await shown.storedAs?.prepare?.([object.object]);
      if (selection.matches(object.object)) items.push(object);
    }
    const last = stored.items.at(-1)?.key;
    if (last !== undefined) afterKey = last.slice(place.length);
    const over = stored.remaining === 0 || last === undefined;
    if (over || (limit > 0 && items.length >= limit))
      return { items, revision, lastKey: over ? undefined : afterKey, remaining: stored.remaining };
  }
}

/** Throws 410 with a token that continues the list at the newest version (an inconsistent list). */
function refuseForgotten(error: unknown, page: Page, afterKey: string): never {
  if (!isKind(error, 'Conflict')) throw error;
  if (page.afterKey === '')
    throw new ApiStatusError('Expired', 'The resourceVersion for the provided list is too old.');
  throw new ApiStatusError(
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    undefined,
    { continueToken: formatContinueToken({ revision: -1, afterKey }) },
  );
}
