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
 * A kind is data: everything the API server knows about it stands in one of these. From it come paths, discovery,
 * OpenAPI, decoding, storage, patches, tables and selectors; the machinery has no line about a kind. CONTRIBUTING.md
 * says how to add one.
 */
export interface ResourceDefinition<T extends ApiObject = ApiObject> {
  readonly type: ResourceType<T>;
  readonly singular: string;
  /** Only a place in the store, where other definitions keep their objects: it is not served. */
  readonly isInternal?: boolean;
  /** A beta kind: it is served only with this feature gate and `--runtime-config`. Absent: always served. */
  readonly gate?: ControlPlaneGate;
  /** An alpha kind that needs no gate: it is served only with `--runtime-config`. */
  readonly isAlpha?: boolean;
  /** Objects may pend until initializers have acted on them: then lists and watches leave them out. */
  readonly isInitialized?: boolean;
  readonly shortNames?: readonly string[];
  /** Groups of kinds for kubectl, such as `all`. */
  readonly categories?: readonly string[];
  /** A warning with every answer about the kind: since when it is deprecated and what to use instead. */
  readonly deprecation?: string;
  /** Absent: all eight. */
  readonly verbs?: readonly ResourceVerb[];
  readonly schema: ObjectSchema;
  /** How bodies are read, where it is not by `schema`: what is unknown is dropped, and named in the warnings. */
  readonly readBody?: (value: unknown) => Decoded<unknown>;
  /**
   * What the documents of OpenAPI 2 and 3 show of the kind, without what every kind has, where that is more than
   * `schema` knows. Such a kind shares no types with others.
   */
  readonly openApi?: (version: 2 | 3) => Readonly<Record<string, unknown>>;
  /** The kind of a list of them. Absent: the kind and `List`. */
  readonly listKind?: string;
  /** Keeps values out of error messages (secrets). */
  readonly hideValues?: boolean;
  /**
   * Where objects stand below `/registry/`: upstream's words, `pods`, `minions`, `services/specs`. Empty for what is
   * created on request.
   */
  readonly storagePath: string;
  /** The store deletes objects so many seconds after their last write (events). */
  readonly ttlSeconds?: number;
  /** Writes may wait a moment to share a disk write (events, leases). */
  readonly unhurried?: boolean;
  readonly rules: ResourceRules<T>;
  /** Field selectors beyond `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: (object: T) => Readonly<Record<string, string>>;
  /**
   * What `kubectl get` shows after the name; the Age column is added unless `columns` has one. Absent: name and Created
   * At.
   */
  readonly columns?: readonly TableColumn<T>[];
  /** Its table has no Age: objects are computed for each answer. */
  readonly hasNoAge?: boolean;
  /** `status` is a subresource: writes to the object leave it alone, writes to it leave the rest alone. */
  readonly hasStatus?: boolean;
  /** With `hasStatus`: the client that creates the object may set its status (nodes do). */
  readonly createsWithStatus?: boolean;
  /** `metadata.generation` counts changes of what is neither metadata nor status. */
  readonly countsGeneration?: boolean;
  /**
   * With `countsGeneration`: whether a change of metadata counts as well (annotations of deployments, labels of
   * endpoint slices).
   */
  readonly alsoCounts?: (object: T, old: T) => boolean;
  readonly views?: readonly SubresourceView<T>[];
  readonly actions?: readonly SubresourceAction<T>[];
  /** Streams and the like: `log`, `exec`, `attach`, `portforward`, `proxy`; the HTTP layer serves them. */
  readonly connects?: readonly SubresourceConnect[];
  /**
   * Objects of this kind are stored as those of `stored` (events.k8s.io Events as core Events). Both functions answer
   * with the very object they got when it is the same in either form.
   */
  readonly storedAs?: {
    readonly stored: ResourceType;
    /** The version in which `stored` keeps objects now, where its objects may be of several. */
    readonly version?: string;
    readonly toStored: (object: T) => ApiObject | Promise<ApiObject>;
    readonly fromStored: (object: ApiObject) => T;
    /**
     * To be awaited before `fromStored` of these objects, which then answers at once (conversion webhooks). Absent, and
     * undefined: there is nothing to wait for.
     */
    readonly prepare?: (objects: readonly ApiObject[]) => Promise<void> | undefined;
  };
  /** The other versions in which the same objects are served. */
  readonly siblings?: () => readonly ResourceDefinition[];
  /**
   * Fills in what must be unique in the cluster (addresses, ports). The last step before the store, after validation;
   * `old` is undefined for a creation. Refuses with `ApiStatusError`.
   */
  readonly allocate?: (object: T, old: T | undefined, store: AllocationStore) => Promise<Allocated<T>>;
  /** After the object is gone from the store: gives back what `allocate` took for it. */
  readonly deallocate?: (object: T, store: AllocationStore) => Promise<void>;
  /** Not stored at all: reviews and bindings. The answer to a create. */
  readonly review?: (object: T, access: ReviewAccess, request: RequestFacts) => Promise<T | Status>;
}

export type ResourceVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/**
 * What rules may know of the request beside its object: who asks (certificate requests say whose they are) and when.
 */
export interface RequestFacts {
  readonly user: UserInfo;
  readonly nowMs: number;
}

/**
 * Allocates names that must be unique in the cluster: names in a `space` (addresses of services: `serviceips`; ports:
 * `servicenodeports`). A name is a key in the store, so only one of several API servers gets it, and it stays taken
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
  /** Objects from the cache. Their names are probably taken: a hint which names not to try. */
  list<U extends ApiObject>(type: ResourceType<U>, namespace: string): readonly U[];
  /**
   * `owner` is `namespace/name/uid`. Taking a name again for the same owner succeeds. With `dryRun` the name is only
   * checked.
   */
  take(space: string, name: string, owner: string): Promise<'taken' | 'used'>;
  /** Releases the name only if `owner` holds it; `before` runs first, while it is still held. */
  release(space: string, name: string, owner: string, before?: () => Promise<void>): Promise<void>;
  /** Objects that show what is allocated. In a dry run nothing of it is stored. */
  readonly objects: AllocationObjects;
}

export type AllocationObjects = Pick<ApiClient, 'get' | 'create' | 'delete'>;

/** A name in a space of `AllocationStore`, with its owner. */
export interface HeldAllocation {
  readonly space: string;
  readonly name: string;
  readonly owner: string;
}

/** The object with what it was given, and what is to be done after the attempt to store it. */
export interface Allocated<T> {
  readonly object: T;
  /** Gives back what was taken in vain, or what the object has no longer. */
  settle(stored: boolean): Promise<void>;
}

/** What upstream calls a strategy. Functions are pure: they get objects and return new ones. */
export interface ResourceRules<T extends ApiObject> {
  /** As the API server would have stored it. */
  readonly applyDefaults: (object: T) => T;
  /**
   * Clears what a creator may not set, fills in what follows from the rest. Runs after defaults, before admission.
   * `status` is dropped automatically when `hasStatus`.
   */
  readonly prepareForCreate?: (object: T, request: RequestFacts) => T;
  /**
   * Of a defaulted object, its metadata included. The machinery checks metadata as well (what is said twice counts
   * once), names only by `validateName`.
   */
  readonly validate: (object: T, policy: ClusterPolicy) => readonly FieldError[];
  readonly validateName?: (name: string) => readonly string[];
  /** Finalizers need not say whose they are: upstream checks the metadata of a few kinds less strictly. */
  readonly anyFinalizer?: boolean;
  readonly prepareForUpdate?: (object: T, old: T, request: RequestFacts) => T;
  readonly validateUpdate: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
  /**
   * For writes to `status`: the machinery has kept everything but status and metadata; a kind whose status writes may
   * not change labels puts the old ones back.
   */
  readonly prepareForStatusUpdate?: (object: T, old: T, request: RequestFacts) => T;
  readonly validateStatusUpdate?: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
  /** Checks that may take long, of every write: they let other work have its turn. */
  readonly validateInTurns?: (object: T, check: LongCheck<T>) => Promise<readonly FieldError[]>;
  readonly warnings?: (object: T, old: T | undefined) => readonly string[];
  /** PUT of what does not exist creates it (leases, services' endpoints, ...). */
  readonly allowCreateOnUpdate?: boolean;
  /**
   * PUT without resourceVersion is refused with Invalid: `metadata.resourceVersion: must be specified for an update`.
   * Absent: allowed.
   */
  readonly requiresResourceVersion?: boolean;
  /** Graceful deletion: seconds the object stays with a deletionTimestamp, or 0. Absent: deleted at once. */
  readonly gracePeriodSeconds?: (object: T, asked: number | undefined) => number;
  /**
   * Namespaces: the object as it stays, terminating, until something lets go of it; undefined when nothing holds it
   * (any more).
   */
  readonly holdDeletion?: (object: T) => T | undefined;
  /**
   * A deletion that takes effect at once answers with the object rather than a Status (upstream: ReturnDeletedObject).
   */
  readonly returnsDeleted?: boolean;
  /**
   * What becomes of dependents when the request does not say (upstream: DefaultGarbageCollectionPolicy). Absent:
   * Background. Unsupported: the garbage collector does not watch the kind, so no request makes a deletion wait for it.
   */
  readonly defaultPropagation?: 'Background' | 'Orphan' | 'Unsupported';
  /** The warning for a deletion that does not say what becomes of dependents. */
  readonly propagationWarning?: string;
}

/** What a check that takes long knows besides the object. */
export interface LongCheck<T extends ApiObject> {
  readonly old: T | undefined;
  readonly subresource: string;
  /** What the other checks have found. */
  readonly found: readonly FieldError[];
  warn(text: string): void;
}

export interface TableColumn<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'date' | 'boolean';
  /** `name` for the name of the object. */
  readonly format?: string;
  readonly description: string;
  /** 0 always, higher ones only with `-o wide`. */
  readonly priority?: number;
  /** Null: the object has nothing to show there. */
  readonly cell: (object: T, nowMs: number) => string | number | boolean | null;
}

/**
 * A part of an object that is read and written on its own: `scale`, `ephemeralcontainers`, `resize`, `approval`,
 * `finalize`.
 */
export interface SubresourceView<T extends ApiObject> {
  readonly name: string;
  /** The kind of the body, where it is not the object itself (autoscaling/v1 Scale). */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly schema?: ObjectSchema;
  /** Of its table, when it has a kind of its own. Absent: name and creation. */
  readonly columns?: readonly TableColumn<ApiObject>[];
  readonly verbs: readonly ('get' | 'update' | 'patch')[];
  /** Absent: the object. */
  readonly read?: (object: T) => ApiObject;
  /** The object after a write of `body`. */
  readonly write: (current: T, body: ApiObject, request: RequestFacts) => T;
  readonly validate: (object: T, old: T, policy: ClusterPolicy) => readonly FieldError[];
}

/** Something done to an object by a POST: `binding`, `eviction`, `token`. */
export interface SubresourceAction<T extends ApiObject> {
  readonly name: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly schema: ObjectSchema;
  /** Answers with the body to send (201), or throws `ApiStatusError`. */
  readonly perform: (access: ActionAccess<T>, body: ApiObject) => Promise<object>;
}

export interface SubresourceConnect {
  readonly name: string;
  /** `get` and `create` for exec, attach, portforward; `get` for log; all for proxy. */
  readonly verbs: readonly string[];
  /** PodExecOptions and the like, for discovery. */
  readonly kind: string;
}

/** What an action may do; everything goes through admission and authorization of the request it belongs to. */
export interface ActionAccess<T extends ApiObject> {
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly nowMs: number;
  /** Reads, changes and stores the object, repeating until there is no conflict. */
  update(change: (current: T) => T): Promise<T>;
  get(): Promise<T>;
  delete(options: {
    readonly gracePeriodSeconds?: number;
    readonly uid?: string;
    readonly resourceVersion?: string;
  }): Promise<void>;
  /** Other kinds: reads from the cache, writes with retries as above. */
  list<U extends ApiObject>(type: ResourceType<U>, namespace: string): readonly U[];
  updateOther<U extends ApiObject>(
    type: ResourceType<U>,
    key: { namespace: string; name: string },
    change: (current: U) => U,
    subresource?: 'status',
  ): Promise<U>;
  /** What only the whole server can do, by name (`signServiceAccountToken`). */
  readonly services: ActionServices;
}

export interface ActionServices {
  /** The API server's own audience in tokens: those of requests that name no audience are for it. */
  readonly apiAudiences: readonly string[];
  /** Signs a token for a service account; answers the JWT and when it ends, milliseconds since 1970. */
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
  /** For a bound pod that runs on a node. */
  readonly node?: { readonly name: string; readonly uid: string };
}

export interface ReviewAccess extends AccessQuestions {
  /** Does to an object what a POST of `body` to the subresource `action` would do; admission has seen `body` already. */
  act(type: ResourceType, name: string, action: string, body: ApiObject): Promise<Status>;
}

export interface AccessQuestions {
  readonly user: UserInfo;
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision>;
  rulesFor(user: UserInfo, namespace: string): Promise<UserRules>;
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResult>;
}
