import type { ResourceDefinition } from '../model/resource-definition.ts';

/** What a client asks for: the path and its Accept header. */
export interface OpenApiRequest {
  readonly path: string;
  readonly accept: string | undefined;
  /** `?hash=` of version 3: who asks with the hash of what is there may keep the answer forever. */
  readonly query?: URLSearchParams;
}

export interface OpenApiDocument {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** With its quotes. */
  readonly etag: string;
  readonly cacheControl?: string;
}

export interface OpenApiDocuments {
  /** The document of a path; undefined when there is none. Rejects with `ApiStatusError` NotAcceptable when no form of it is accepted. */
  get(request: OpenApiRequest): Promise<OpenApiDocument | undefined>;
  /** For the list at `/`. */
  readonly paths: readonly string[];
}

/**
 * The OpenAPI documents of these kinds. Nothing is made before somebody asks: a cluster that only controllers and kubelets talk to never pays for them.
 * Each document is made once, and kept as what is sent.
 */
export function createOpenApiDocuments(definitions: readonly ResourceDefinition[], options: { readonly version: string }): OpenApiDocuments {
  const versions = [...new Set(definitions.map(({ type }) => (type.group === '' ? `api/${type.version}` : `apis/${type.group}/${type.version}`)))].sort();
  let store: Promise<OpenApiDocuments['get']> | undefined;
  return {
    paths: ['/openapi/v2', '/openapi/v3', ...versions.map((version) => `/openapi/v3/${version}`)],
    get: async (request) => {
      if (!/^\/openapi\/v[23](\/|$)/.test(request.path)) return undefined;
      store ??= import('./document-store.ts').then(({ documentStore }) => documentStore(definitions, options.version, versions));
      return (await store)(request);
    },
  };
}
