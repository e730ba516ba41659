import type { ListOptions, WatchOptions } from '../../api/client/api-client.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { RequestContext } from '../model/request-context.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { LeaderTerm } from './leader-term.ts';

/**
 * The verbs of the API, written once for all kinds: decoding, defaults, validation, admission, optimistic locking,
 * storing, and reading from the watch cache. The HTTP layer and callers in this process use it alike. Authentication,
 * authorization and limits come before it. Every method rejects with `ApiStatusError`.
 */
export interface Registry {
  get(request: ResourceRequest, options: { readonly resourceVersion?: string }): Promise<Served>;
  list(request: ResourceRequest, options: ListOptions): Promise<ServedList>;
  /** Resolves when the watch has begun; `sink.end` may come at any time after. */
  watch(request: ResourceRequest, options: WatchOptions, sink: WatchSink): Promise<{ close(): void }>;
  /**
   * Also reviews, and with a subresource its action (`binding`). `request.name` is '' unless there is a subresource.
   */
  create(request: ResourceRequest, body: WriteBody): Promise<Served>;
  update(request: ResourceRequest, body: WriteBody): Promise<Written>;
  patch(request: ResourceRequest, patch: PatchBody): Promise<Written>;
  /**
   * `gone` is false if the object stays for now because of its grace period or finalizers; the object is returned then.
   * Otherwise a Status that names the object is returned, or the object for kinds with `returnsDeleted`.
   */
  delete(request: ResourceRequest, options: unknown): Promise<Served & { readonly gone: boolean }>;
  deleteCollection(request: ResourceRequest, selection: ListOptions, options: unknown): Promise<ServedList>;
}

export interface ResourceRequest {
  readonly definition: ResourceDefinition;
  /** '' for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** '' for the object itself. */
  readonly subresource: string;
  readonly context: RequestContext;
  /** Of a part that leads: nothing is written once another process leads. */
  readonly term?: LeaderTerm | undefined;
}

/**
 * A body as parsed from JSON or YAML; or, as yet unread because its meaning depends on its kind, in the API's protobuf
 * form.
 */
export interface WriteBody {
  readonly value: unknown;
  readonly protobuf?: Uint8Array;
  /**
   * Fields that were repeated in the text; only the parser of the text knows them. `duplicate field "spec.x"`, or as
   * `form` says.
   */
  readonly duplicates: readonly string[];
  /** `yaml`: the text was YAML, and its duplicates are lines: `line 3: key "x" already set in map`. */
  readonly form?: 'yaml';
  /** JSON text with duplicates, needed for the order of unknown fields among them. */
  readonly text?: string;
}

export interface PatchBody extends WriteBody {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply';
}

/** An object and its JSON, which is created once for all readers. Both are immutable. */
export interface Served {
  readonly object: ApiObject;
  readonly json: string;
}

export interface Written extends Served {
  /** True when there was none before: the answer is 201. */
  readonly created: boolean;
}

export interface ServedList {
  readonly items: readonly Served[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Where a watch delivers. Calls come in order, synchronously, and must not block. */
export interface WatchSink {
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', served: Served): void;
  bookmark(resourceVersion: string, initialEventsEnd: boolean): void;
  /**
   * Ends the watch: with an error (410 Expired if the reader was too slow or the version was compacted), or without one
   * when the server stops.
   */
  end(error: Error | undefined): void;
}
