import { createHash } from 'node:crypto';
import { headerOf } from '../http/http-request.ts';
import { jsonReply } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { acceptedTypes, parseAccept } from '../output/negotiate.ts';
import { writeYaml } from '../output/write-yaml.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Endpoint } from '../path/dispatch.ts';
import { unsupportedMethod } from '../path/dispatch.ts';
import type { Exchange } from '../path/exchange.ts';
import type { ApiBackends } from '../../model/api-backends.ts';
import type { ServedResources } from '../path/served-resource.ts';
import { aggregatedDiscovery } from './aggregated.ts';
import { apiResources, groupVersionOf, groupsOf } from './describe.ts';
import type { GroupVersion } from './describe.ts';

type DiscoveryForm =
  | { readonly as: 'plain' | 'yaml' }
  | { readonly as: 'aggregated'; readonly version: 'v2' | 'v2beta1' };

interface Documents {
  readonly plain: ReadonlyMap<string, () => object>;
  readonly aggregated: ReadonlyMap<string, ReadonlyMap<string, readonly GroupVersion[]>>;
  readonly texts: Map<string, string>;
}

/** The sources of discovery: this server's kinds and those of aggregated servers. */
export interface DescribedApis {
  readonly resources: ServedResources;
  readonly backends: ApiBackends;
}

function describeAll({ resources, backends }: DescribedApis, publicAddress: string): Documents {
  const groups = groupsOf(resources.all, backends);
  const core = groups.get('') ?? [];
  const named = new Map([...groups].filter(([group]) => group !== ''));
  const plain = new Map<string, () => object>([
    [
      '/api',
      () => ({
        kind: 'APIVersions',
        versions: core.map(({ version }) => version),
        serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: publicAddress }],
      }),
    ],
    [
      '/apis',
      () => ({
        kind: 'APIGroupList',
        apiVersion: 'v1',
        groups: [...named].map(([group, versions]) => apiGroup(group, versions)),
      }),
    ],
  ]);
  for (const each of core) plain.set(`/api/${each.version}`, () => resourceList(each));
  for (const [group, versions] of named) {
    plain.set(`/apis/${group}`, () => ({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group, versions) }));
    for (const each of versions)
      if (each.backend === undefined) plain.set(`/apis/${group}/${each.version}`, () => resourceList(each));
  }
  const aggregated = new Map([
    ['/api', new Map(core.length > 0 ? [['', core]] : [])],
    ['/apis', named],
  ]);
  return { plain, aggregated, texts: new Map() };
}

/**
 * Serves `/api`, `/apis` and the paths below them, except resources. Documents are built at the first request, and
 * again after kinds have changed.
 */
export function discoveryEndpoint(
  apis: DescribedApis,
  publicAddress: string,
): { readonly serve: Endpoint; readonly paths: () => readonly string[] } {
  const generationOf = ({ resources, backends }: DescribedApis): string =>
    `${resources.generation}/${backends.generation}`;
  let documents = describeAll(apis, publicAddress);
  let generation = generationOf(apis);
  const current = (): Documents => {
    const now = generationOf(apis);
    if (generation !== now) {
      generation = now;
      documents = describeAll(apis, publicAddress);
    }
    return documents;
  };
  const textOf = ({ texts }: Documents, key: string, make: () => object): string => {
    const text = texts.get(key) ?? `${JSON.stringify(make())}\n`;
    texts.set(key, text);
    return text;
  };
  const serve: Endpoint = async (exchange) => {
    const path = exchange.path.length > 1 ? exchange.path.replace(/(?<!\/)\/+$/, '') : exchange.path;
    const known = current();
    const document = known.plain.get(path);
    if (document === undefined) return undefined;
    if (exchange.http.method !== 'GET' && exchange.http.method !== 'HEAD') throw unsupportedMethod();
    const whole = known.aggregated.get(path);
    const form = formOf(headerOf(exchange.http.headers, 'accept'), whole !== undefined);
    if (form.as === 'aggregated' && whole !== undefined)
      return withEtag(
        exchange,
        textOf(known, `${path} ${form.version}`, () => aggregatedDiscovery(whole, form.version)),
        form.version,
      );
    const text = textOf(known, path, document);
    const vary = whole === undefined ? undefined : { vary: 'Accept' };
    if (form.as === 'yaml')
      return {
        kind: 'body',
        status: 200,
        headers: { 'content-type': 'application/yaml', ...vary },
        body: writeYaml(JSON.parse(text)),
      };
    return { ...jsonReply(200, text), headers: { 'content-type': 'application/json', ...vary } };
  };
  return { serve, paths: () => [...current().plain.keys()] };
}

function formOf(accept: string | undefined, canAggregate: boolean): DiscoveryForm {
  if (accept === undefined || accept.trim() === '') return { as: 'plain' };
  for (const { type, parameters } of parseAccept(accept)) {
    const isJson = type === 'application/json' || type === '*/*' || type === 'application/*';
    if (isJson && parameters.as === 'APIGroupDiscoveryList') {
      const version = parameters.v;
      if (canAggregate && parameters.g === 'apidiscovery.k8s.io' && (version === 'v2' || version === 'v2beta1'))
        return { as: 'aggregated', version };
    } else if (isJson && parameters.as === undefined) return { as: 'plain' };
    else if (type === 'application/yaml' && parameters.as === undefined) return { as: 'yaml' };
  }
  throw new ApiStatusError('NotAcceptable', `only the following media types are accepted: ${acceptedTypes.join(', ')}`);
}

function withEtag(exchange: Exchange, text: string, version: string): Reply {
  const etag = `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
  const headers = {
    'content-type': `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    etag,
    vary: 'Accept',
    'cache-control': 'public',
  };
  if (headerOf(exchange.http.headers, 'if-none-match') === etag)
    return { kind: 'body', status: 304, headers, body: '' };
  return { kind: 'body', status: 200, headers, body: text };
}

function apiGroup(name: string, versions: readonly GroupVersion[]): object {
  const listed = versions.map(groupVersionOf);
  return { name, versions: listed, preferredVersion: listed[0] };
}

const resourceList = (each: GroupVersion): object => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: groupVersionOf(each).groupVersion,
  resources: apiResources(each),
});
