import type { ApiObject, ObjectKey, ResourceType } from './resource-type.ts';

/**
 * The API for controllers, the scheduler and, on a node of a cluster, the agent. One implementation calls the API
 * server in the same process, another one uses HTTP with any API server. Callers must not depend on the implementation.
 * Every method rejects with `ApiStatusError`. Objects are immutable: a change creates a new object.
 */
export interface ApiClient {
  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options?: GetOptions): Promise<T>;
  /** `namespace` '' lists all namespaces. */
  list<T extends ApiObject>(type: ResourceType<T>, namespace: string, options?: ListOptions): Promise<ListResult<T>>;
  /**
   * Ends when `signal` aborts, when the server ends the watch, or with an `ERROR` event (410 Expired: list again).
   * Rejects if the watch cannot be started.
   */
  watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  create<T extends ApiObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces the object. With `metadata.resourceVersion`, only if that is still the newest version. */
  update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<T>;
  patch<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Resolves when the deletion is accepted: graceful deletion and finalizers may keep the object for a while. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /**
   * POST to a subresource with a body of another kind (`binding`, `eviction`, `token`). Resolves with the decoded body
   * of the response.
   */
  post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown>;
  /**
   * Calls `listener` when retrying failed requests is likely to succeed. Absent if callers should just retry. Returns a
   * function that unsubscribes.
   */
  onReturn?(listener: ReturnListener): () => void;
}

/**
 * `answers`: a server answers again that was unreachable for some time; many callers may be waiting for it. `admitted`:
 * the client could not send requests before, or not with its current identity.
 */
export type ReturnListener = (why: 'answers' | 'admitted') => void;

export interface GetOptions {
  /** The subresource, such as `scale`. Its object may be of another kind. */
  readonly subresource?: string;
  readonly resourceVersion?: string;
}

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  /**
   * Absent: the newest version. `0`: any version. Otherwise at least this version, or exactly with
   * `resourceVersionMatch: 'Exact'`.
   */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** Includes objects that initializers have not processed yet, if the server has initializers. */
  readonly includeUninitialized?: boolean;
}

export interface ListResult<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Set when there are more pages. */
  readonly continue?: string;
}

export interface WatchOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Events after this version are sent. */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /** WatchList: first all objects as ADDED, then a bookmark with the annotation `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  /** As for lists. */
  readonly includeUninitialized?: boolean;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds?: number;
  /** Called when the server has accepted the watch. There may be no event yet. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only `metadata.resourceVersion` means anything. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly error: Error };

export interface WriteOptions {
  readonly dryRun?: boolean;
  /** The manager that is written into `managedFields`. */
  readonly fieldManager?: string;
}

export type Patch =
  | { readonly type: 'json'; readonly body: readonly object[] }
  | { readonly type: 'merge' | 'strategic' | 'apply'; readonly body: object };

export interface PatchOptions extends WriteOptions {
  readonly subresource?: string;
  /** For `apply`: takes over fields of other managers. */
  readonly force?: boolean;
}

export interface DeleteOptions {
  /** Seconds; 0 deletes immediately. Absent: the default of the kind. */
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Rejects with Conflict when the name belongs to another object now. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}
