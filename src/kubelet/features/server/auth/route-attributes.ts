import { lookupTable } from '../../../../base/lookup.ts';

/**
 * What a request needs: the verb, and subresources of the node in the order of the checks. One of the subresources is
 * sufficient.
 */
export interface RouteAttributes {
  readonly verb: string;
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = lookupTable({
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});

/**
 * Requests that change a container or open a connection to it need `create`, with any method (k8s.io issue 136550: a
 * GET of a WebSocket is not a read).
 */
const actions: readonly string[] = ['/run', '/exec', '/attach', '/portForward'];

/**
 * The first match is used (upstream: pkg/kubelet/server/auth.go with KubeletFineGrainedAuthz). An unlisted path needs
 * `proxy`, so that a path that is added later is not open by accident.
 */
const fineGrained: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
];

/**
 * Returns the attributes of a request. `path` is percent-decoded and without the query, as in the router. An upgrade is
 * always `create`, because it opens a raw connection.
 */
export function routeAttributes(method: string, path: string, isUpgrade: boolean): RouteAttributes {
  const isAction = isUpgrade || actions.some((action) => isBelow(path, action));
  const verb = isAction ? 'create' : (verbs[method] ?? '');
  return { verb, subresources: fineGrained.find(([prefix]) => isBelow(path, prefix))?.[1] ?? ['proxy'] };
}

const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
