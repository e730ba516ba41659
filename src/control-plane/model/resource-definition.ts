import type { ApiClient } from '../../api/client/api-client.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import type { Status } from '../../api/status/status.ts';
import type { Decoded } from '../../api/schema/decode.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import type { ClusterPolicy } from '../../api/validation/cluster-policy.ts';
import type { ControlPlaneGate } from './control-plane-gates.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import type {
  AuthenticationResult,
  AuthorizationAttributes,
  AuthorizationDecision,
  UserInfo,
  UserRules,
} from './user-info.ts';

/**
 * The definition of a kind, as data. Paths, discovery, OpenAPI, decoding, storage, patches, tables and selectors are
 * derived from it; no other code of the API server names a kind. CONTRIBUTING.md describes how to add one.
 */
export interface ResourceDefinition<T extends ApiObject = ApiObject> {
  readonly type: ResourceType<T>;
  readonly singular: string;
  /** Whether it is only a storage location for the objects of other definitions, and not served. */
  readonly isInternal?: boolean;
  /**
   * The feature gate of a beta kind, which is served only with the gate and `--runtime-config`. If it is absent, the
   * kind is always served.
   */
  readonly gate?: ControlPlaneGate;
  /** Whether it is an alpha kind without a gate, which is served only with `--runtime-config`. */
  readonly isAlpha?: boolean;
  /** Whether objects may be pending for initializers; lists and watches leave such objects out. */
  readonly isInitialized?: boolean;
  readonly shortNames?: readonly string[];
  /** Groups of kinds for kubectl, such as `all`. */
  readonly categories?: readonly string[];
  /** The deprecation warning of every response for the kind. */
  readonly deprecation?: string;
  /** The verbs; absent means all eight. */
  readonly verbs?: readonly ResourceVerb[];
  /** The verbs in discovery, in its order; absent means all served verbs, sorted. */
  readonly announcedVerbs?: readonly ResourceVerb[];
  /** The reason why no object can be created any more. */
  readonly refusesCreation?: string;
  readonly schema: ObjectSchema;
  /** Decodes bodies, if `schema` is not used. Unknown fields are dropped and reported. */
  readonly readBody?: (value: unknown) => Decoded<unknown>;
  /**
   * Returns the OpenAPI 2 or 3 schema of the kind without the common fields, if it contains more than `schema`. Such a
   * kind shares no types with others.
   */
  readonly openApi?: (version: 2 | 3) => Readonly<Record<string, unknown>>;
  /** The kind of lists; by default the kind with `List` appended. */
  readonly listKind?: string;
  /** Whether error messages must not contain values (Secrets). */
  readonly hideValues?: boolean;
  /**
   * The storage location below `/registry/`, as in upstream: `pods`, `minions`, `services/specs`. Empty for kinds that
   * are computed on request.
   */
  readonly storagePath: string;
  /**
   * Returns the form in which the cache stores an object: equal to it, but smaller. It is for large objects that are
   * seldom read.
   */
  readonly packed?: (object: T) => T;
  /** The number of seconds after their last write when the store deletes objects (events). */
  readonly ttlSeconds?: number;
  /** Whether writes may wait a moment to share a disk write (events, leases). */
  readonly unhurried?: boolean;
  readonly rules: ResourceRules<T>;
  /** Returns the field selectors in addition to `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: (object: T) => Readonly<Record<string, string>>;
  /**
   * The columns of `kubectl get` after the name. The Age column is added unless `columns` has one. By default they are
   * name and Created At.
   */
  readonly columns?: readonly TableColumn<T>[];
  /** Whether its table has no Age column, as upstream, because objects are computed for each answer. */
  readonly hasNoAge?: boolean;
  /** Whether `status` is a subresource: writes to the object do not change it, and writes to it change nothing else. */
  readonly hasStatus?: boolean;
  /**
   * The fields that writers of the object, or of its status, never own. The default is `status` for the object, and
   * `spec` for the status (upstream: GetResetFields).
   */
  readonly resetFields?: { readonly object?: readonly string[]; readonly status?: readonly string[] };
  /** With `hasStatus`: whether the client that creates the object may set its status (nodes do). */
  readonly createsWithStatus?: boolean;
  /** Whether `metadata.generation` counts changes outside of metadata and status. */
  readonly countsGeneration?: boolean;
  /** With `countsGeneration`: whether a new object has no generation, and the first change makes it 1 (CSIDrivers). */
  readonly startsWithoutGeneration?: boolean;
  /**
   * With `countsGeneration`: whether a change of metadata counts as well (annotations of deployments, labels of
   * endpoint slices).
   */
  readonly alsoCounts?: (object: T, old: T) => boolean;
  readonly views?: readonly SubresourceView<T>[];
  readonly actions?: readonly SubresourceAction<T>[];
  /** The streaming subresources `log`, `exec`, `attach`, `portforward` and `proxy`. The HTTP layer serves them. */
  readonly connects?: readonly SubresourceConnect[];
  /**
   * The kind in whose form the objects are stored (events.k8s.io Events as core Events). Both functions return the same
   * object if it needs no conversion.
   */
  readonly storedAs?: {
    readonly stored: ResourceType;
    /** The current storage version of `stored`, if its objects may have several versions. */
    readonly version?: string;
    readonly toStored: (object: T) => ApiObject | Promise<ApiObject>;
    readonly fromStored: (object: ApiObject) => T;
    /**
     * Must be awaited before `fromStored` of these objects, which is then synchronous (conversion webhooks). If it is
     * absent or returns undefined, no wait is needed.
     */
    readonly prepare?: (objects: readonly ApiObject[]) => Promise<void> | undefined;
  };
  /** Returns the other versions in which the same objects are served. */
  readonly siblings?: () => readonly ResourceDefinition[];
  /**
   * Allocates values that must be unique in the cluster (addresses, ports). It is the last step before the store, after
   * validation. `old` is undefined for a create. Refuses with `ApiStatusError`.
   */
  readonly allocate?: (object: T, old: T | undefined, store: AllocationStore) => Promise<Allocated<T>>;
  /** Releases the values of `allocate` after the object was deleted from the store. */
  readonly deallocate?: (object: T, store: AllocationStore) => Promise<void>;
  /** Computes the response to a create, for kinds that are not stored (reviews and bindings). */
  readonly review?: (object: T, access: ReviewAccess, request: RequestFacts) => Promise<T | Status>;
}

export type ResourceVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** The facts of a request that rules need: the user (recorded in certificate requests) and the time. */
export interface RequestFacts {
  readonly user: UserInfo;
  readonly nowMs: number;
}

/**
 * Allocates names that must be unique in the cluster, each in a `space` (addresses of services: `serviceips`; ports:
 * `servicenodeports`). A name is a key in the store, so only one of several API servers gets it, and it stays allocated
 * across restarts until `release`.
 */
export interface AllocationStore {
  readonly settings: {
    readonly serviceCidrs: readonly string[];
    readonly nodePorts: { readonly first: number; readonly last: number };
  };
  readonly nowMs: number;
  /** A number in [0, 1). */
  random(): number;
  /** Lists objects from the cache, as a hint which names are probably in use. */
  list<U extends ApiObject>(type: ResourceType<U>, namespace: string): readonly U[];
  /**
   * Allocates a name. `owner` is `namespace/name/uid`. Allocating a name again for the same owner succeeds. With
   * `dryRun` the name is only checked.
   */
  take(space: string, name: string, owner: string): Promise<'taken' | 'used'>;
  /** Releases the name, only if `owner` has it. `before` runs first, while it is still allocated. */
  release(space: string, name: string, owner: string, before?: () => Promise<void>): Promise<void>;
  /** Objects that represent allocations. A dry run stores none of them. */
  readonly objects: AllocationObjects;
}

export type AllocationObjects = Pick<ApiClient, 'get' | 'create' | 'delete'>;

/** A name in a space of `AllocationStore`, with its owner. */
export interface HeldAllocation {
  readonly space: string;
  readonly name: string;
  readonly owner: string;
}

/** The object with its allocated values, and a function for after the attempt to store it. */
export interface Allocated<T> {
  readonly object: T;
  /** Releases the values that are not used: the new ones if the object was not stored, else the old ones. */
  settle(stored: boolean): Promise<void>;
}

/**
 * The rules of a kind, which upstream calls a strategy. The functions have no side effects: they get objects and return
 * new ones.
 */
export interface ResourceRules<T extends ApiObject> {
  /** Applies the defaults of the API. */
  readonly applyDefaults: (object: T) => T;
  /**
   * Clears fields that a creator may not set, and sets derived fields. It runs after defaults and before admission.
   * `status` is dropped automatically with `hasStatus`.
   */
  readonly prepareForCreate?: (object: T, request: RequestFacts) => T;
  /**
   * Validates an object with defaults, including its metadata. The registry validates metadata as well (duplicate
   * errors count once), and names only with `validateName`.
   */
  readonly validate: (object: T, policy: ClusterPolicy) => readonly FieldError[];
  readonly validateName?: (name: string) => readonly string[];
  /** Whether finalizers without a domain are allowed: upstream checks the metadata of a few kinds less strictly. */
  readonly anyFinalizer?: boolean;
  readonly prepareForUpdate?: (object: T, old: T, request: RequestFacts) => T;
  readonly validateUpdate: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
  /**
   * For writes to `status`. The registry has restored everything except status and metadata. A kind whose status writes
   * may not change labels restores the old ones.
   */
  readonly prepareForStatusUpdate?: (object: T, old: T, request: RequestFacts) => T;
  readonly validateStatusUpdate?: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
  /** Checks that may take long and yield to other work. */
  readonly validateInTurns?: (object: T, check: LongCheck<T>) => Promise<readonly FieldError[]>;
  readonly warnings?: (object: T, old: T | undefined) => readonly string[];
  /** Whether a PUT of a missing object creates it (leases, endpoints ...). */
  readonly allowCreateOnUpdate?: boolean;
  /**
   * Whether a PUT without resourceVersion is refused with Invalid: `metadata.resourceVersion: must be specified for an
   * update`; default false.
   */
  readonly requiresResourceVersion?: boolean;
  /**
   * Returns how many seconds a deleted object stays with a deletionTimestamp, or 0. If it is absent, objects are
   * deleted immediately.
   */
  readonly gracePeriodSeconds?: (object: T, asked: number | undefined) => number;
  /** Returns why the object of this name is never deleted, or undefined. */
  readonly refuseDeletion?: (name: string) => string | undefined;
  /**
   * Returns the terminating object of a namespace until its finalizers are removed; undefined if nothing blocks the
   * deletion.
   */
  readonly holdDeletion?: (object: T) => T | undefined;
  /** Whether an immediate deletion returns the object instead of a Status (upstream: ReturnDeletedObject). */
  readonly returnsDeleted?: boolean;
  /**
   * The default propagation policy for dependents (upstream: DefaultGarbageCollectionPolicy); default Background.
   * Unsupported: the garbage collector does not watch the kind, so no request makes a deletion wait for it.
   */
  readonly defaultPropagation?: 'Background' | 'Orphan' | 'Unsupported';
  /** The warning for a deletion without a propagation policy. */
  readonly propagationWarning?: string;
}

/** The context of a long-running check. */
export interface LongCheck<T extends ApiObject> {
  readonly old: T | undefined;
  readonly subresource: string;
  /** The errors of the other checks. */
  readonly found: readonly FieldError[];
  warn(text: string): void;
}

export interface TableColumn<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'date' | 'boolean';
  /** The format; `name` for the name of the object. */
  readonly format?: string;
  readonly description: string;
  /** 0 for columns that are always shown; others appear only with `-o wide`. */
  readonly priority?: number;
  /** Returns the cell; null for an empty one. */
  readonly cell: (object: T, nowMs: number) => string | number | boolean | null;
}

/**
 * A part of an object that is read and written separately: `scale`, `ephemeralcontainers`, `resize`, `approval`,
 * `finalize`.
 */
export interface SubresourceView<T extends ApiObject> {
  readonly name: string;
  /** The kind of the body, if it is not the object itself (autoscaling/v1 Scale). */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly schema?: ObjectSchema;
  /** The columns of its table, if it has its own kind; by default name and creation time. */
  readonly columns?: readonly TableColumn<ApiObject>[];
  readonly verbs: readonly ('get' | 'update' | 'patch')[];
  /** Returns the body of a read; by default the object. */
  readonly read?: (object: T) => ApiObject;
  /** Returns the object after a write of `body`. */
  readonly write: (current: T, body: ApiObject, request: RequestFacts) => T;
  readonly validate: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
}

/** An action on an object by POST: `binding`, `eviction`, `token`. */
export interface SubresourceAction<T extends ApiObject> {
  readonly name: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly schema: ObjectSchema;
  /** Returns the response body (201), or throws `ApiStatusError`. */
  readonly perform: (access: ActionAccess<T>, body: ApiObject) => Promise<object>;
}

export interface SubresourceConnect {
  readonly name: string;
  /** The verbs: `get` and `create` for exec, attach and portforward, `get` for log, and all for proxy. */
  readonly verbs: readonly string[];
  /** The kind of its options in discovery, such as PodExecOptions. */
  readonly kind: string;
}

/** The operations of an action, with admission and authorization of its request. */
export interface ActionAccess<T extends ApiObject> {
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly nowMs: number;
  /** Reads, changes and stores the object, repeated until there is no conflict. */
  update(change: (current: T) => T): Promise<T>;
  get(): Promise<T>;
  delete(options: {
    readonly gracePeriodSeconds?: number;
    readonly uid?: string;
    readonly resourceVersion?: string;
  }): Promise<void>;
  /** Access to other kinds: reads from the cache, and writes with retries as above. */
  list<U extends ApiObject>(type: ResourceType<U>, namespace: string): readonly U[];
  updateOther<U extends ApiObject>(
    type: ResourceType<U>,
    key: { namespace: string; name: string },
    change: (current: U) => U,
    subresource?: 'status',
  ): Promise<U>;
  /** The functions of the server, by name (`signServiceAccountToken`). */
  readonly services: ActionServices;
}

export interface ActionServices {
  /** The API server's audience, for token requests without audiences. */
  readonly apiAudiences: readonly string[];
  /** Signs a token for a service account. Returns the JWT and its expiry in milliseconds since 1970. */
  signServiceAccountToken(request: ServiceAccountTokenRequest): Promise<{ token: string; expiresAtMs: number }>;
}

export interface ServiceAccountTokenRequest {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObject?: {
    readonly kind: 'Pod' | 'Secret' | 'Node';
    readonly apiVersion: string;
    readonly name: string;
    readonly uid: string;
  };
  /** The node of a bound pod that has one. */
  readonly node?: { readonly name: string; readonly uid: string };
}

export interface ReviewAccess extends AccessQuestions {
  /** Executes a POST of `body` to the subresource `action`. Admission has already run for `body`. */
  act(type: ResourceType, name: string, action: string, body: ApiObject): Promise<Status>;
}

export interface AccessQuestions {
  readonly user: UserInfo;
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision>;
  rulesFor(user: UserInfo, namespace: string): Promise<UserRules>;
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResult>;
}
