import { errorMessage } from '../../base/errors.ts';
import { ApiStatusError } from '../status/api-status-error.ts';
import type { WatchEvent } from './api-client.ts';
import { formatKey, keyOf } from './resource-type.ts';
import type { ApiObject } from './resource-type.ts';
import { isOlderVersion } from './resource-version.ts';

/** Receives the events of a reflector, synchronously and in order. */
export interface ReflectorSink<T> {
  /** All objects, which replace everything known before. */
  replace(items: readonly T[]): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
}

/** The server's version went back: its store was restored (a restored etcd). Known objects must be requested again. */
export class WentBack extends Error {
  constructor(before: string, now: string) {
    super(`the server was at resource version ${before} and is at ${now} now`);
    this.name = 'WentBack';
  }
}

/** The state of one watch. */
export class WatchSession<T extends ApiObject> {
  /** The version from which a next watch continues. */
  version: string;
  /** Whether the sink has all objects: at once, or after the end of a streamed list. */
  complete: boolean;
  /** Whether anything was received. */
  heard = false;
  readonly #sink: ReflectorSink<T>;
  #initial: Map<string, T> | undefined;
  #open = true;

  constructor(sink: ReflectorSink<T>, version: string, streamList: boolean) {
    this.#sink = sink;
    this.version = version;
    this.complete = !streamList;
    this.#initial = streamList ? new Map() : undefined;
  }

  close(): void {
    this.#open = false;
  }

  /** Returns false when the watch must end. Throws the error that the server sent. */
  take(event: WatchEvent<T>): boolean {
    if (!this.#open) return false;
    if (event.type === 'ERROR')
      throw event.error instanceof ApiStatusError
        ? event.error
        : new ApiStatusError('InternalError', errorMessage(event.error), undefined, { cause: event.error });
    this.heard = true;
    if (event.type === 'BOOKMARK') {
      this.#bookmark(event);
      return true;
    }
    const { object } = event;
    if (this.#initial === undefined) {
      this.#goOn(object.metadata.resourceVersion ?? this.version);
      this.#sink.event(event.type, object);
    } else if (event.type === 'DELETED') this.#initial.delete(formatKey(keyOf(object)));
    else this.#initial.set(formatKey(keyOf(object)), object);
    return true;
  }

  #bookmark({
    resourceVersion,
    initialEventsEnd,
  }: {
    readonly resourceVersion: string;
    readonly initialEventsEnd: boolean;
  }): void {
    if (this.#initial === undefined) return this.#goOn(resourceVersion);
    if (!initialEventsEnd) return;
    const items = [...this.#initial.values()];
    this.#initial = undefined;
    this.complete = true;
    this.#sink.replace(items);
    this.version = resourceVersion;
  }

  #goOn(version: string): void {
    if (isOlderVersion(version, this.version)) throw new WentBack(this.version, version);
    this.version = version;
  }
}
