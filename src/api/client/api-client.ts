import type { ApiObject, ObjectKey, ResourceType } from './resource-type.ts';

/**
 * The API as controllers, scheduler and, on a node of a cluster, the agent use it. One implementation calls the
 * embedded API server in its own process, another speaks HTTP to any API server; nothing that uses it may know which.
 * Every method rejects with `ApiStatusError`. Objects are immutable: a change makes a new one.
 */
export interface ApiClient {
  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options?: GetOptions): Promise<T>;
  /** `namespace` '' lists all namespaces. */
  list<T extends ApiObject>(type: ResourceType<T>, namespace: string, options?: ListOptions): Promise<ListResult<T>>;
  /**
   * Ends when `signal` aborts, when the server ends it, or with an `ERROR` event (410 Expired: list again). Rejects
   * when it cannot be begun.
   */
  watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  create<T extends ApiObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces; `metadata.resourceVersion` set means only if that is still the newest. */
  update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<T>;
  patch<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Resolves when the deletion is accepted: graceful deletion and finalizers may keep the object for a while. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /**
   * POST to a subresource with a body of another kind (`binding`, `eviction`, `token`); the answer's body as it came.
   */
  post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown>;
  /**
   * Calls `listener` when it is worth asking again after nothing had been to be had; absent where it always is. Returns
   * what ends it.
   */
  onReturn?(listener: ReturnListener): () => void;
}

/**
 * `answers`: a server that could not be reached for a while, and that many others waited for. `admitted`: the client
 * itself had not been able to ask, or not as who it is now.
 */
export type ReturnListener = (why: 'answers' | 'admitted') => void;

export interface GetOptions {
  /** The part of that name: `scale`. Its kind may be another one. */
  readonly subresource?: string;
  readonly resourceVersion?: string;
}

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  /**
   * Absent: the newest. `0`: whatever is at hand. Else at least that version, or exactly with `resourceVersionMatch:
   * 'Exact'`.
   */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** Also what initializers have yet to act on, where the server has initializers. */
  readonly includeUninitialized?: boolean;
}

export interface ListResult<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Set when there is more. */
  readonly continue?: string;
}

export interface WatchOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Events after this version. */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /** WatchList: first all objects as ADDED, then a bookmark with the annotation `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  /** As for lists. */
  readonly includeUninitialized?: boolean;
  /** The server ends it after this time. */
  readonly timeoutSeconds?: number;
  /** The server has taken it; nothing may have happened yet. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only `metadata.resourceVersion` means anything. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly error: Error };

export interface WriteOptions {
  readonly dryRun?: boolean;
  /** Who is written into `managedFields`. */
  readonly fieldManager?: string;
}

export type Patch =
  | { readonly type: 'json'; readonly body: readonly object[] }
  | { readonly type: 'merge' | 'strategic' | 'apply'; readonly body: object };

export interface PatchOptions extends WriteOptions {
  readonly subresource?: string;
  /** For `apply`: takes over fields that others own. */
  readonly force?: boolean;
}

export interface DeleteOptions {
  /** Seconds; 0 deletes at once. Absent: the kind's own. */
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Refuses with Conflict when the object is another one by now. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}
