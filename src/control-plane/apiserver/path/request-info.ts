import { lookupTable } from '../../../base/lookup.ts';
import { exactMatch, parseFieldSelector } from '../../../api/selectors.ts';
import type { SplitPath } from './split-path.ts';

/** The target of a request, parsed from its method and path only (upstream: RequestInfo). */
export interface RequestInfo {
  readonly resourceRequest: boolean;
  /**
   * The verb: `get list watch create update patch delete deletecollection`, `proxy`, '' for an unknown method, or the
   * lower-case method for non-resource requests.
   */
  readonly verb: string;
  readonly path: string;
  /** The prefix: `api` or `apis`. */
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The parts from the resource on. The parts after the subresource belong to the proxy. */
  readonly parts: readonly string[];
  /** Whether the path has the deprecated form `/api/v1/watch/...`. */
  readonly watchByPath: boolean;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

const verbOfMethod: Readonly<Record<string, string>> = lookupTable({
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});
const namespaceSubresources = new Set(['status', 'finalize']);
const verbsWithSelectors = new Set(['list', 'watch', 'deletecollection']);
const wordsBeforeResource = new Set(['proxy', 'watch']);

/** Returns the part that identifies the resource. The part after a `proxy` subresource belongs to the backend. */
export function meaningfulParts({ parts: all }: SplitPath, { parts, subresource }: RequestInfo): number {
  return subresource === 'proxy' ? all.length - parts.length + 3 : all.length;
}

/**
 * Parses a request. Returns undefined for a path such as `/api/v1/watch`, which names no resource (upstream answers
 * 500: unable to determine kind and namespace).
 */
export function parseRequestInfo(
  method: string,
  { text: path, parts: all }: SplitPath,
  query: URLSearchParams,
): RequestInfo | undefined {
  const other: RequestInfo = {
    resourceRequest: false,
    verb: method.toLowerCase(),
    path,
    prefix: '',
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
    watchByPath: false,
  };
  const [prefix] = all;
  if (all.length < 3 || (prefix !== 'api' && prefix !== 'apis') || (prefix === 'apis' && all.length < 4)) return other;
  const group = prefix === 'api' ? '' : (all[1] ?? '');
  const [version = '', ...found] = all.slice(prefix === 'api' ? 1 : 2);
  const word = wordsBeforeResource.has(found[0] ?? '') ? found[0] : undefined;
  if (word !== undefined && found.length < 2) return undefined;
  const { namespace, parts } = splitNamespace(word === undefined ? found : found.slice(1));
  const given = word ?? verbOfMethod[method] ?? '';
  const subresource = given === 'proxy' ? '' : (parts[2] ?? '');
  const named = parts[1] ?? '';
  const verb = verbFor(given, named, query);
  const name = named === '' && given === 'get' ? nameFromSelector(query) : named;
  const withSelectors =
    word === undefined && verbsWithSelectors.has(verb === 'delete' && name === '' ? 'deletecollection' : verb);
  return {
    resourceRequest: true,
    verb,
    path,
    prefix,
    group,
    version,
    namespace,
    resource: parts[0] ?? '',
    subresource,
    name,
    parts,
    watchByPath: word === 'watch',
    ...(withSelectors && {
      fieldSelector: query.get('fieldSelector') ?? undefined,
      labelSelector: query.get('labelSelector') ?? undefined,
    }),
  };
}

function splitNamespace(parts: readonly string[]): { namespace: string; parts: readonly string[] } {
  if (parts[0] !== 'namespaces' || parts.length < 2) return { namespace: '', parts };
  const namespace = parts[1] ?? '';
  const third = parts[2];
  return third === undefined || namespaceSubresources.has(third)
    ? { namespace, parts }
    : { namespace, parts: parts.slice(2) };
}

function verbFor(given: string, name: string, query: URLSearchParams): string {
  if (name !== '') return given;
  if (given === 'get') return asksToWatch(query) ? 'watch' : 'list';
  return given === 'delete' ? 'deletecollection' : given;
}

/** Whether the query requests a watch: `?watch`, `?watch=1`, `?watch=true`; any value except `false` and `0`. */
function asksToWatch(query: URLSearchParams): boolean {
  const value = query.get('watch');
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}

/**
 * Returns the name in a field selector. A list with `metadata.name=x` is authorized for x only, and uses the same
 * parsed selector.
 */
function nameFromSelector(query: URLSearchParams): string {
  const parsed = parseFieldSelector(query.get('fieldSelector') ?? '');
  const name = typeof parsed === 'string' ? '' : (exactMatch(parsed, 'metadata.name') ?? '');
  return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}

/** Whether the request is long-running. In-flight limits and the request timeout then do not apply. */
export function isLongRunning(info: RequestInfo): boolean {
  if (!info.resourceRequest) return info.path.startsWith('/debug/pprof/');
  return info.verb === 'watch' || info.verb === 'proxy' || longSubresources.has(info.subresource);
}

const longSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Whether the request changes nothing (upstream: nonMutatingRequestVerbs). */
export const isReading = (info: RequestInfo): boolean =>
  info.verb === 'get' || info.verb === 'list' || info.verb === 'watch';
