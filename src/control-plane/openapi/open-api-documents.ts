import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { OpenApiDocuments } from './served-document.ts';

/**
 * The OpenAPI documents of these kinds. Nothing is created before the first request: a cluster that only controllers
 * and kubelets talk to never pays for them. Each document is made once, and kept as what is sent.
 */
export function createOpenApiDocuments(
  definitions: readonly ResourceDefinition[],
  options: { readonly version: string },
): OpenApiDocuments {
  const versions = [
    ...new Set(
      definitions.map(({ type }) => (type.group === '' ? `api/${type.version}` : `apis/${type.group}/${type.version}`)),
    ),
  ].sort();
  let store: Promise<OpenApiDocuments['get']> | undefined;
  return {
    paths: ['/openapi/v2', '/openapi/v3', ...versions.map((version) => `/openapi/v3/${version}`)],
    get: async (request) => {
      if (!/^\/openapi\/v[23](\/|$)/.test(request.path)) return undefined;
      store ??= import('./document-store.ts').then(({ documentStore }) =>
        documentStore(definitions, options.version, versions),
      );
      return (await store)(request);
    },
  };
}
