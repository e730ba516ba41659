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

/** The interval of bookmarks, if requested (upstream: about once a minute). */
const BOOKMARK_MS = 60_000;

export interface WatchSource {
  readonly cache: WatchCache;
  readonly clock: Clock;
  /** Returns the object to send for an object of the cache: itself, or its form in a kind that is stored as another. */
  readonly serve: (object: Served) => Served;
}

/**
 * Runs one watch. Without a version or with `0` it begins with the existing objects as ADDED; with a version, with the
 * changes after it; with `sendInitialEvents`, with the existing objects and a bookmark. An object that starts to match
 * the selection is sent as ADDED, one that stops matching as DELETED in its previous state.
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
  // There is no `await` from here on, so that no change is lost between state and events.
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
      // A watch must not continue after a lost change.
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
    // A version from before the window is valid if nothing of the kind has changed since then.
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

  /** Sends a bookmark. It promises that all changes until its revision were delivered, so it waits for them. */
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

  /** Returns the objects of an event that may be shown or whose fields may be read. */
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
