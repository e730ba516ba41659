import type { ApiBackends } from '../model/api-backends.ts';
import type { Definitions } from '../model/definitions.ts';
import { groupVersionsOf } from './group-versions.ts';
import type { OpenApiDocuments } from './served-document.ts';

/**
 * The OpenAPI documents of these kinds. Nothing is built before the first request, so a cluster that only controllers
 * and kubelets use has no cost. Each document is built once and cached as bytes until one of its kinds changes.
 */
export function createOpenApiDocuments(
  definitions: Definitions,
  options: { readonly version: string; readonly backends?: ApiBackends },
): OpenApiDocuments {
  let store: Promise<OpenApiDocuments['get']> | undefined;
  return {
    paths: () => ['/openapi/v2', '/openapi/v3', ...groupVersionsOf(definitions).map((name) => `/openapi/v3/${name}`)],
    get: async (request) => {
      if (!/^\/openapi\/v[23](\/|$)/.test(request.path)) return undefined;
      store ??= import('./document-store.ts').then(({ documentStore }) =>
        documentStore(definitions, options.version, options.backends),
      );
      return (await store)(request);
    },
  };
}
