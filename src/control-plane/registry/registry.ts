import type { ListOptions, WatchOptions } from '../../api/client/api-client.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { RequestContext } from '../model/request-context.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { LeaderTerm } from './leader-term.ts';

/**
 * The verbs of the API, implemented once for all kinds: decoding, defaults, validation, admission, optimistic locking,
 * storing, and reading from the watch cache. The HTTP layer and callers in this process use the same methods.
 * Authentication, authorization and limits come before it. Every method rejects with `ApiStatusError`.
 */
export interface Registry {
  get(request: ResourceRequest, options: { readonly resourceVersion?: string }): Promise<Served>;
  list(request: ResourceRequest, options: ListOptions): Promise<ServedList>;
  /** Starts a watch. Resolves when it has begun; `sink.end` may be called at any time after. */
  watch(request: ResourceRequest, options: WatchOptions, sink: WatchSink): Promise<{ close(): void }>;
  /**
   * Creates an object, runs a review, or runs the action of a subresource (`binding`). `request.name` is '' unless
   * there is a subresource.
   */
  create(request: ResourceRequest, body: WriteBody): Promise<Served>;
  update(request: ResourceRequest, body: WriteBody): Promise<Written>;
  patch(request: ResourceRequest, patch: PatchBody): Promise<Written>;
  /**
   * Deletes an object. `gone` is false if the object stays because of its grace period or finalizers; the object is
   * returned then. Otherwise a Status that names the object is returned, or the object for kinds with `returnsDeleted`.
   */
  delete(request: ResourceRequest, options: unknown): Promise<Served & { readonly gone: boolean }>;
  /** Deletes the selected objects, except those that their kind never deletes. Returns the deleted objects. */
  deleteCollection(request: ResourceRequest, selection: ListOptions, options: unknown): Promise<ServedList>;
}

export interface ResourceRequest {
  readonly definition: ResourceDefinition;
  /** The namespace; '' for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** The subresource; '' for the object itself. */
  readonly subresource: string;
  readonly context: RequestContext;
  /** The term of the leading component that writes. Nothing is written once another process leads. */
  readonly term?: LeaderTerm | undefined;
}

/**
 * A request body: a value parsed from JSON or YAML, or protobuf bytes, which are decoded later because their meaning
 * depends on the kind.
 */
export interface WriteBody {
  readonly value: unknown;
  readonly protobuf?: Uint8Array;
  /**
   * The fields that occur twice in the text, which only its parser knows: `duplicate field "spec.x"`, or in the format
   * of `form`.
   */
  readonly duplicates: readonly string[];
  /** Set to `yaml` if the text was YAML. Its duplicates then have lines: `line 3: key "x" already set in map`. */
  readonly form?: 'yaml';
  /** The JSON text if it has duplicates. It determines the order of unknown fields among them. */
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
  /** Whether the object is new, so that the status is 201. */
  readonly created: boolean;
}

export interface ServedList {
  readonly items: readonly Served[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** The receiver of a watch. Calls are synchronous and in order, and must not block. */
export interface WatchSink {
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', served: Served): void;
  bookmark(resourceVersion: string, initialEventsEnd: boolean): void;
  /**
   * Ends the watch: with an error (410 Expired if the reader was too slow or the version was compacted), or without one
   * when the server stops.
   */
  end(error: Error | undefined): void;
}
