import { ApiStatusError, badRequest, internalError } from '../../../api/status/api-status-error.ts';
import { textReply } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { ResourceVerbs } from '../verbs/resource-verbs.ts';
import type { WatchVerb } from '../verbs/watch-verb.ts';
import { addWarning } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { routeOf } from './route.ts';
import type { RequestInfo } from './request-info.ts';
import type { ObjectVerb } from './route.ts';
import type { ServedResource, ServedResources, ServedSubresource } from './served-resource.ts';

/** Serves non-resource paths. Returns undefined for an unknown path. */
export type Endpoint = (exchange: Exchange) => Promise<Reply | undefined>;

export type ConnectHandler = (
  exchange: Exchange,
  resource: ServedResource,
  subresource: ServedSubresource,
) => Promise<Reply>;

export interface DispatchParts {
  readonly resources: ServedResources;
  readonly verbs: ResourceVerbs;
  readonly watches: WatchVerb;
  readonly connect: ConnectHandler;
  /** Proxies to other servers. Returns undefined for APIs that this server serves. */
  readonly aggregation?: (exchange: Exchange) => Promise<Reply> | undefined;
  /** The endpoints in the order in which they are called. */
  readonly endpoints: readonly Endpoint[];
}

const pageNotFound = (): Reply => textReply(404, '404 page not found\n');

const unknownResource = (): ApiStatusError =>
  new ApiStatusError('NotFound', 'the server could not find the requested resource', {});

export const unsupportedMethod = (): ApiStatusError =>
  new ApiStatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** Upstream's handler of custom kinds names the verb. */
function unsupportedVerb({ verb, group, resource }: RequestInfo): ApiStatusError {
  const message = `${verb} is not supported on resources of kind "${resource}.${group}"`;
  return new ApiStatusError('MethodNotAllowed', message, { group, kind: resource });
}

/** Executes the request, as the last step of the request path. */
export async function dispatch(exchange: Exchange, parts: DispatchParts): Promise<Reply> {
  const { info, http } = exchange;
  const aggregated = parts.aggregation?.(exchange);
  if (aggregated !== undefined) return aggregated;
  if (!info.resourceRequest) {
    for (const endpoint of parts.endpoints) {
      const reply = await endpoint(exchange);
      if (reply !== undefined) return reply;
    }
    return pageNotFound();
  }
  if (!parts.resources.hasGroupVersion(info.group, info.version)) return pageNotFound();
  const resource = parts.resources.find(info.group, info.version, info.resource);
  if (resource === undefined) throw unknownResource();
  const route = routeOf(http.method, info, resource);
  switch (route.kind) {
    case 'notFound':
      throw unknownResource();
    case 'pageNotFound':
      return pageNotFound();
    case 'nameRequired':
      throw badRequest('name must be provided');
    case 'methodNotAllowed':
      throw resource.definition.readBody === undefined ? unsupportedMethod() : unsupportedVerb(info);
    case 'connect':
      return parts.connect(exchange, resource, route.subresource);
    case 'verb':
      return serveVerb(route.verb, exchange, resource, parts);
  }
}

function serveVerb(
  verb: ObjectVerb,
  exchange: Exchange,
  resource: ServedResource,
  { verbs, watches }: DispatchParts,
): Promise<Reply> {
  if (exchange.http.upgrade !== undefined && verb !== 'watch')
    throw internalError('this cannot be served over an upgraded connection');
  addWarning(exchange, resource.definition.deprecation ?? '');
  return verb === 'watch' ? watches.watch(exchange, resource) : verbs[verb](exchange, resource);
}
