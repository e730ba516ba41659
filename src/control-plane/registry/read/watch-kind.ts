import type { Clock, Timer } from '../../../base/clock.ts';
import type { WatchOptions } from '../../../api/client/api-client.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError, internalError } from '../../../api/status/api-status-error.ts';
import type { CacheEvent } from '../cache/event-window.ts';
import type { KindCache, WatchCache } from '../cache/watch-cache.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { OrderedDelivery } from './ordered-delivery.ts';
import { notOlderThan } from './read-list.ts';
import type { ResourceRequest, Served, WatchSink } from '../registry.ts';
import { parseSelection } from './selection.ts';
import type { Selection } from './selection.ts';
import { parseRevision } from './parse-revision.ts';

/** How often a watch that asked for bookmarks gets one (upstream: about once a minute). */
const BOOKMARK_MS = 60_000;

export interface WatchSource {
  readonly cache: WatchCache;
  readonly clock: Clock;
  /** How an object of the cache is shown: itself, or as a kind that is stored as another. */
  readonly serve: (object: Served) => Served;
}

/**
 * One watch. From nothing or `0` it begins with what is there, as ADDED; from a version with what happened after it;
 * `sendInitialEvents` with what is there and a bookmark behind it. An object that comes to match the selection is
 * ADDED, one that ceases to is DELETED, as it was before.
 */
export async function watchKind(
  source: WatchSource,
  request: ResourceRequest,
  options: WatchOptions,
  sink: WatchSink,
): Promise<{ close(): void }> {
  const { cache } = source;
  const kind = cache.kind(request.definition);
  const selection = parseSelection(request.definition, options);
  const from = parseRevision(options.resourceVersion);
  const fromState = options.sendInitialEvents === true || from === 0;
  if (options.sendInitialEvents === true) await notOlderThan(cache, options.resourceVersion);
  else await cache.waitFor(from);
  // From here on nothing waits, so that no change can slip between state and events.
  const watch = new Watch(source, kind, {
    prefix: request.namespace === '' ? '' : `${request.namespace}/`,
    selection,
    sink,
    prepare: request.definition.storedAs?.prepare,
  });
  if (!fromState) watch.replay(from);
  else if (options.sendInitialEvents !== false) watch.showState();
  if (options.sendInitialEvents === true) watch.bookmark(true);
  watch.begin(options.allowBookmarks === true);
  return { close: () => watch.close() };
}

type Prepare = NonNullable<ResourceDefinition['storedAs']>['prepare'];

interface WatchScope {
  readonly prefix: string;
  readonly selection: Selection;
  readonly sink: WatchSink;
  readonly prepare: Prepare | undefined;
}

class Watch {
  readonly #source: WatchSource;
  readonly #kind: KindCache;
  readonly #scope: WatchScope;
  readonly #delivery: OrderedDelivery;
  #timer: Timer | undefined;
  readonly #listener = (event: CacheEvent): void => {
    try {
      this.#deliver(event);
    } catch (error) {
      // It must not go on with a change left out.
      this.#end(internalError(error));
      throw error;
    }
  };
  readonly #end = (error: Error | undefined): void => {
    this.close();
    this.#scope.sink.end(error);
  };

  constructor(source: WatchSource, kind: KindCache, scope: WatchScope) {
    this.#source = source;
    this.#kind = kind;
    this.#scope = scope;
    this.#delivery = new OrderedDelivery(scope.prepare, this.#end);
  }

  replay(after: number): void {
    const missed = this.#kind.window.after(after);
    // A version from before the window is still good when nothing of the kind has changed since.
    if (missed === undefined && this.#kind.lastChange > after)
      throw new ApiStatusError('Expired', `too old resource version: ${after} (${this.#kind.window.oldest})`);
    for (const event of missed ?? []) this.#deliver(event);
  }

  showState(): void {
    const { prefix, sink } = this.#scope;
    const objects = [...this.#kind.objects.range(prefix)].map(([, object]) => object);
    this.#delivery.push(
      objects.map(({ object }) => object),
      () => {
        for (const each of objects) if (this.#selects(each.object)) sink.event('ADDED', this.#source.serve(each));
      },
    );
  }

  /** It says that all until this revision has been delivered, and so it waits for that. */
  bookmark(initialEventsEnd: boolean): void {
    const revision = String(this.#source.cache.revision);
    this.#delivery.push([], () => this.#scope.sink.bookmark(revision, initialEventsEnd));
  }

  begin(bookmarks: boolean): void {
    this.#kind.listeners.add(this.#listener);
    this.#kind.watches.add(this.#end);
    if (bookmarks) this.#arm();
  }

  close(): void {
    this.#kind.listeners.delete(this.#listener);
    this.#kind.watches.delete(this.#end);
    this.#timer?.cancel();
    this.#delivery.close();
  }

  #arm(): void {
    this.#timer = this.#source.clock.setTimer(BOOKMARK_MS, () => {
      this.bookmark(false);
      this.#arm();
    });
  }

  #selects(object: ApiObject): boolean {
    const { selection } = this.#scope;
    return selection.everything || selection.matches(object);
  }

  #deliver(event: CacheEvent): void {
    if (!event.key.startsWith(this.#scope.prefix)) return;
    if (this.#scope.prepare === undefined) this.#send(event);
    else this.#delivery.push(this.#objectsOf(event), () => this.#send(event));
  }

  /** What may be shown of an event, or asked for its fields. */
  #objectsOf({ before, after, deleted }: CacheEvent): readonly ApiObject[] {
    if (before === undefined || this.#scope.selection.everything) return [after.object];
    return [before.object, after.object, ...(deleted ? [] : [before.deletedAt(after.revision).object])];
  }

  #send({ before, after, deleted }: CacheEvent): void {
    const { sink } = this.#scope;
    const { serve } = this.#source;
    const was = before !== undefined && this.#selects(before.object);
    const is = !deleted && this.#selects(after.object);
    if (is) sink.event(was ? 'MODIFIED' : 'ADDED', serve(after));
    else if (was) sink.event('DELETED', serve(deleted ? after : before.deletedAt(after.revision)));
  }
}
