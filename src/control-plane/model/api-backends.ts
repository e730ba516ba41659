/** An API version that another server serves behind a Service (upstream: APIService with a service). */
export interface ApiBackend {
  /** The name of the APIService: `v1beta1.metrics.k8s.io`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: BackendService;
  /** The CA certificates in PEM; absent means those of the system. */
  readonly caBundle?: string;
  readonly insecureSkipTLSVerify: boolean;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly isAvailable: boolean;
  /** Its last resource list, kept while it is unavailable. */
  readonly resources?: readonly BackendResource[];
  /** The hash of its OpenAPI 3 document. */
  readonly openApiHash?: string;
  /** Its part of the OpenAPI 2 document. */
  readonly openApi2?: BackendOpenApi;
}

export interface BackendOpenApi {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly definitions: Readonly<Record<string, unknown>>;
}

export interface BackendService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** A valid entry of an APIResourceList. */
export interface BackendResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** All API versions of other servers. */
export interface ApiBackends {
  readonly all: readonly ApiBackend[];
  /** A number that changes with each change, after which derived data must be rebuilt. */
  readonly generation: number;
  find(group: string, version: string): ApiBackend | undefined;
  /** Calls the listener after each change; returns the function that unsubscribes. */
  onChange(listener: () => void): () => void;
}

export const noBackends: ApiBackends = {
  all: [],
  generation: 0,
  find: () => undefined,
  onChange: () => () => undefined,
};

/** The current address of a Service. */
export interface BackendAddress {
  readonly host: string;
  readonly port: number;
}
