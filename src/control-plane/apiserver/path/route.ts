import { lookupTable } from '../../../base/lookup.ts';
import type { ServedResource, ServedSubresource } from './served-resource.ts';
import type { RequestInfo } from './request-info.ts';

export type ObjectVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deleteCollection';

export type Route =
  | { readonly kind: 'verb'; readonly verb: ObjectVerb }
  | { readonly kind: 'connect'; readonly subresource: ServedSubresource }
  | { readonly kind: 'notFound' }
  /** No handler knows the path. */
  | { readonly kind: 'pageNotFound' }
  | { readonly kind: 'nameRequired' }
  | { readonly kind: 'methodNotAllowed' };

const notFound: Route = { kind: 'notFound' };
const methodNotAllowed: Route = { kind: 'methodNotAllowed' };
const collectionVerbs: Readonly<Record<string, ObjectVerb>> = lookupTable({
  GET: 'list',
  POST: 'create',
  DELETE: 'deleteCollection',
});
const objectVerbs: Readonly<Record<string, ObjectVerb>> = lookupTable({
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});
const connectVerbs: Readonly<Record<string, string>> = lookupTable({
  GET: 'get',
  HEAD: 'get',
  OPTIONS: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});

/** The verb of a method and a path for an existing resource, or the error of upstream's router. */
export function routeOf(asked: string, info: RequestInfo, resource: ServedResource): Route {
  const method = asked === 'HEAD' && readsHead(info, resource) ? 'GET' : asked;
  const { type } = resource.definition;
  const { name, namespace, parts } = info;
  const isNamespace = type.plural === 'namespaces' && type.group === '';
  // `/api/v1/proxy/...` is authorized as `proxy`, but the path is not served any more.
  if (info.verb === 'proxy') return notFound;
  if (!type.namespaced && namespace !== '' && !isNamespace) return notFound;
  const isNamed = parts.length >= 2;
  if (info.watchByPath)
    return method === 'GET' && parts.length <= 2 && (isNamed ? namespace !== '' || !type.namespaced : true)
      ? allowed(resource, 'watch')
      : methodNotAllowed;
  const isCustom = resource.definition.readBody !== undefined;
  if (type.namespaced && namespace === '') {
    if (isNamed) return isCustom ? { kind: 'pageNotFound' } : notFound;
    if (method !== 'GET') return isCustom && method !== 'HEAD' ? { kind: 'pageNotFound' } : methodNotAllowed;
  }
  if (info.subresource !== '') return routeSubresource(method, info, resource);
  if (isNamed && name !== '') return allowed(resource, objectVerbs[method]);
  if (isCustom && (method === 'PUT' || method === 'PATCH')) return { kind: 'nameRequired' };
  const verb = collectionVerbs[method];
  return allowed(resource, verb === 'list' && info.verb === 'watch' ? 'watch' : verb);
}

/** Upstream's handler of custom kinds answers HEAD as GET; its router of built-in kinds does not know HEAD. */
function readsHead({ verb, watchByPath }: RequestInfo, { definition }: ServedResource): boolean {
  return definition.readBody !== undefined && verb !== 'watch' && !watchByPath;
}

function allowed({ verbs }: ServedResource, verb: ObjectVerb | undefined): Route {
  return verb !== undefined && verbs.includes(verb.toLowerCase()) ? { kind: 'verb', verb } : methodNotAllowed;
}

function routeSubresource(method: string, info: RequestInfo, resource: ServedResource): Route {
  const subresource = resource.subresources.get(info.subresource);
  if (subresource === undefined) return notFound;
  if (subresource.kind === 'connect') {
    if (info.parts.length > 3 && subresource.name !== 'proxy') return notFound;
    const verb = connectVerbs[method];
    return verb !== undefined &&
      subresource.verbs.includes(verb) &&
      (subresource.name === 'proxy' || (method !== 'HEAD' && method !== 'OPTIONS'))
      ? { kind: 'connect', subresource }
      : methodNotAllowed;
  }
  if (info.parts.length > 3) return notFound;
  if (subresource.kind === 'action') return method === 'POST' ? { kind: 'verb', verb: 'create' } : methodNotAllowed;
  const verb = objectVerbs[method];
  return verb !== undefined && subresource.verbs.includes(verb) ? { kind: 'verb', verb } : methodNotAllowed;
}
