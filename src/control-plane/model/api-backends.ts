/** A version of an API that another server serves, behind a Service (upstream: APIService with a service). */
export interface ApiBackend {
  /** Of the APIService: `v1beta1.metrics.k8s.io`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: BackendService;
  /** PEM. Absent: the authorities of the system. */
  readonly caBundle?: string;
  readonly insecureSkipTLSVerify: boolean;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly isAvailable: boolean;
  /** What it said last of its resources, kept while it is not available. */
  readonly resources?: readonly BackendResource[];
  /** Under which hash its document of OpenAPI 3 is, as it says. */
  readonly openApiHash?: string;
  /** Its part of the document of OpenAPI 2. */
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

/** A line of an APIResourceList, as far as it could be read. */
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

/** All of them as they are now. */
export interface ApiBackends {
  readonly all: readonly ApiBackend[];
  /** Changes with them: what is made of them is then to be made again. */
  readonly generation: number;
  find(group: string, version: string): ApiBackend | undefined;
}

export const noBackends: ApiBackends = { all: [], generation: 0, find: () => undefined };

/** Where a Service is reached now. */
export interface BackendAddress {
  readonly host: string;
  readonly port: number;
}
