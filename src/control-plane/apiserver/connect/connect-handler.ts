import type { Duplex } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { Clock } from '../../../base/clock.ts';
import { isSameIp } from '../../../base/ip-address.ts';
import type { Random } from '../../../base/random.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError, badRequest, internalError } from '../../../api/status/api-status-error.ts';
import type { AdmissionPlugin } from '../../model/admission.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Authorizer } from '../../model/user-info.ts';
import type { Registry } from '../../registry/registry.ts';
import { streamModeOf } from '../../../streaming/protocols.ts';
import { headerOf } from '../http/http-request.ts';
import { textReply } from '../http/reply.ts';
import type { Reply, ReplyHeaders } from '../http/reply.ts';
import type { DialTarget, KubeletClientOptions } from '../options.ts';
import { attributesOf, requireAllowed } from '../path/authorize.ts';
import type { ConnectHandler } from '../path/dispatch.ts';
import type { Exchange } from '../path/exchange.ts';
import type { ServedResource, ServedResources } from '../path/served-resource.ts';
import { resourceRequest } from '../verbs/resource-verbs.ts';
import { booleanOf } from '../verbs/query-values.ts';
import { htmlLinks } from './html-links.ts';
import { forward } from './forward.ts';
import type { BackendAnswer } from './forward.ts';
import { kubeletAddressOf } from './kubelet-address.ts';
import { isNodeAction } from './node-actions.ts';
import { logProtocolOf, throughSocket } from './log-socket.ts';
import { commandStreams, logRequest, portForwardRequest, streamRequest } from './pod-options.ts';
import type { KubeletRequest } from './pod-options.ts';
import {
  isProxyableNode,
  noEndpoints,
  parseProxyName,
  podTarget,
  portNumber,
  serviceCandidates,
} from './proxy-target.ts';
import type { ReadyEndpoints } from './proxy-target.ts';

export interface ConnectOptions {
  readonly registry: Registry;
  readonly resources: ServedResources;
  readonly authorizer: Authorizer;
  readonly admission: readonly AdmissionPlugin[];
  readonly kubelets: KubeletClientOptions;
  readonly random: Random;
  readonly clock: Clock;
}

const MOST_ERROR_BYTES = 2048;

/** Handles logs, streams and proxies: the requests that are forwarded to a kubelet, a pod or a service. */
export function createConnectHandler(options: ConnectOptions): ConnectHandler {
  const connector = new Connector(options);
  return async (exchange, resource, subresource) => {
    if (subresource.name !== 'log') await connector.admit(exchange, resource, subresource.name);
    switch (subresource.name) {
      case 'log':
        return connector.log(exchange);
      case 'exec':
      case 'attach':
      case 'portforward':
        return connector.stream(exchange, subresource.name);
      case 'proxy':
        return connector.proxy(exchange, resource.definition);
      default:
        throw internalError(new Error(`nothing serves ${subresource.name}`));
    }
  };
}

class Connector {
  readonly #options: ConnectOptions;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  async admit(exchange: Exchange, { definition }: ServedResource, subresource: string): Promise<void> {
    const { namespace, name } = exchange.info;
    const { context } = resourceRequest(exchange, definition, {
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Ignore',
    });
    const query = Object.fromEntries(
      [...new Set(exchange.query.keys())].map((key) => [key, exchange.query.getAll(key)]),
    );
    const attributes = {
      operation: 'CONNECT',
      definition,
      subresource,
      namespace,
      name,
      object: undefined,
      oldObject: undefined,
      options: query,
      context,
    } as const;
    for (const plugin of this.#options.admission) if (plugin.handles(attributes)) await plugin.validate?.(attributes);
  }

  async log(exchange: Exchange): Promise<Reply> {
    const { info, query, http } = exchange;
    const pod = await this.#get<Pod>(exchange, 'pods', info.name);
    const request = logRequest(pod, query);
    const protocol = logProtocolOf(http);
    const nodeName = pod.spec.nodeName ?? '';
    if (nodeName === '') return { ...textReply(204, ''), headers: {} };
    const target = await this.#kubelet(exchange, nodeName, booleanOf(query, 'insecureSkipTLSVerifyBackend') === true);
    const path = pathOf(request);
    const log = await forward({
      dialer: this.#options.kubelets.dialer,
      clock: this.#options.clock,
      target,
      method: 'GET',
      path,
      headers: { 'accept-encoding': 'identity' },
      http: { ...bodiless(http) },
      unreachable: (why) =>
        new ApiStatusError(
          'Unknown',
          `Get "https://${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}${path}": ${why}`,
        ),
      onAnswer: async (answer) => {
        if (answer.status >= 300) throw await logError(answer, info.name);
        return { 'content-type': answer.headers['content-type'] ?? 'text/plain' };
      },
    });
    return protocol === undefined || log.kind !== 'stream' ? log : throughSocket(log, http, protocol);
  }

  async stream(exchange: Exchange, kind: 'exec' | 'attach' | 'portforward'): Promise<Reply> {
    const { info, query, http } = exchange;
    await this.#requireCreate(exchange);
    const pod = await this.#get<Pod>(exchange, 'pods', info.name);
    const request = kind === 'portforward' ? portForwardRequest(pod, query) : streamRequest(kind, pod, query);
    if (http.upgrade === undefined) throw badRequest('Upgrade request required');
    const node = await this.#get<Node>(exchange, 'nodes', pod.spec.nodeName ?? '');
    // Kubelets from 1.36 on declare support for WebSockets. For others the API server translates to SPDY, as upstream
    // does.
    const isTaken = node.status?.declaredFeatures?.includes('ExtendWebSocketsToKubelet') === true;
    const mode = isTaken
      ? undefined
      : streamModeOf(http.headers, kind === 'portforward' ? undefined : commandStreams(query));
    const { dialer } = this.#options.kubelets;
    return forward({
      dialer,
      target: this.#targetOf(node, false),
      method: http.method,
      path: pathOf(request),
      headers: http.headers,
      http,
      mustUpgrade: true,
      clock: this.#options.clock,
      ...(mode !== undefined && { mode }),
    });
  }

  async proxy(exchange: Exchange, definition: ResourceDefinition): Promise<Reply> {
    const { http } = exchange;
    const { base, rest } = exchange.proxied;
    const { search } = http.target;
    if (rest === '' && ['GET', 'HEAD'].includes(http.method) && http.upgrade === undefined)
      return { kind: 'body', status: 301, headers: { location: `${base}/${search}` }, body: '' };
    if (definition.type.plural === 'nodes' && isNodeAction(rest, http.upgrade !== undefined))
      await this.#requireCreate(exchange);
    const target = await this.#proxyTarget(exchange, definition.type.plural);
    const forwardedHost = headerOf(http.headers, 'host') ?? headerOf(http.headers, ':authority');
    const added = {
      'x-forwarded-uri': `${base}${rest}`,
      ...(forwardedHost !== undefined && { 'x-forwarded-host': forwardedHost }),
      'x-forwarded-proto': 'https',
    };
    return forward({
      dialer: this.#options.kubelets.dialer,
      clock: this.#options.clock,
      target,
      method: http.method,
      path: `${rest === '' ? '/' : rest}${search}`,
      headers: http.headers,
      added,
      http,
      onAnswer: ({ headers }) => withLocation(headers, target, base),
      rewriteBody: (answer) =>
        http.method === 'HEAD' ? [] : pageRewriting(answer, (url) => throughProxy(url, target, base)),
    });
  }

  /** Requires the permission to create. A WebSocket request is a GET, but has the effect of a POST. */
  async #requireCreate({ info, user }: Exchange): Promise<void> {
    if (info.verb !== 'create')
      await requireAllowed(this.#options.authorizer, { ...attributesOf(user, info), verb: 'create' });
  }

  async #proxyTarget(exchange: Exchange, plural: string): Promise<DialTarget> {
    const { name } = exchange.info;
    if (plural === 'pods') {
      const parsed = parseProxyName(name, 'pod');
      return podTarget(parsed, await this.#get<Pod>(exchange, 'pods', parsed.name));
    }
    if (plural === 'services') return this.#serviceTarget(exchange, name);
    const parsed = parseProxyName(name, 'node');
    const { mayBeLocal: _no, ...kubelet } = await this.#kubelet(exchange, parsed.name, false);
    if (!isProxyableNode(kubelet.host)) throw badRequest('address not allowed');
    if (parsed.port === '' || parsed.port === String(kubelet.port)) return kubelet;
    return {
      host: kubelet.host,
      port: portNumber(parsed.port),
      security: parsed.scheme === 'https' ? 'tls-insecure' : 'none',
    };
  }

  async #serviceTarget(exchange: Exchange, id: string): Promise<DialTarget> {
    const parsed = parseProxyName(id, 'service');
    const service = await this.#get<Service>(exchange, 'services', parsed.name);
    const endpoints = await this.#get<ApiObject & ReadyEndpoints>(exchange, 'endpoints', parsed.name);
    const { random } = this.#options;
    for (const { target, podName } of serviceCandidates(parsed, { service, endpoints, random: () => random.next() })) {
      const pod = await this.#get<Pod>(exchange, 'pods', podName).catch(() => undefined);
      const ips = [pod?.status?.podIP ?? '', ...(pod?.status?.podIPs ?? []).map(({ ip }) => ip)];
      if (ips.some((ip) => isSameIp(ip, target.host))) return target;
    }
    throw noEndpoints(id);
  }

  async #kubelet(exchange: Exchange, nodeName: string, isUnchecked: boolean): Promise<DialTarget> {
    return this.#targetOf(await this.#get<Node>(exchange, 'nodes', nodeName), isUnchecked);
  }

  #targetOf(node: Node, isUnchecked: boolean): DialTarget {
    const { host, port } = kubeletAddressOf(node, this.#options.kubelets.preferredAddressTypes);
    return { host, port, security: isUnchecked ? 'kubelet-unchecked' : 'kubelet', mayBeLocal: true };
  }

  /** Reads an object as the server itself, because the user is authorized only for the subresource. */
  async #get<T extends ApiObject>(exchange: Exchange, plural: string, name: string): Promise<T> {
    const resource = this.#options.resources.find('', 'v1', plural);
    if (resource === undefined) throw internalError(new Error(`${plural} are not served`));
    const request = resourceRequest(exchange, resource.definition, {
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Ignore',
    });
    const { object } = await this.#options.registry.get({ ...request, name, subresource: '' }, {});
    // The objects of a definition have its kind.
    return object as T;
  }
}

const pathOf = ({ path, query }: KubeletRequest): string => (query.size === 0 ? path : `${path}?${query.toString()}`);

/** Returns a GET without the headers and the body of the client's request. */
function bodiless(http: Exchange['http']): Exchange['http'] {
  return {
    method: http.method,
    target: http.target,
    bodyLength: 0,
    headers: {},
    protocol: http.protocol,
    remoteAddress: http.remoteAddress,
    connection: http.connection,
    get isFinished() {
      return http.isFinished;
    },
    readBody: (limitBytes) => http.readBody(limitBytes),
    bodyStream: () => http.bodyStream(),
    onFinished: (listener) => http.onFinished(listener),
    cut: () => http.cut(),
  };
}

async function logError({ status, readText }: BackendAnswer, name: string): Promise<ApiStatusError> {
  if (status < 400) return internalError(new Error('redirects forbidden'));
  const text = (await readText(MOST_ERROR_BYTES)).trimEnd();
  if (status === 400) return badRequest(text);
  if (status === 404)
    return new ApiStatusError('NotFound', `the server could not find the requested resource ( pods/log ${name})`, {
      name,
      kind: 'pods/log',
    });
  return internalError(new Error(text));
}

/** Rewrites a redirect to the same backend so that it goes through the proxy; others are passed on unchanged. */
function withLocation(headers: ReplyHeaders, target: DialTarget, base: string): ReplyHeaders {
  const { location } = headers;
  return typeof location === 'string' ? { ...headers, location: throughProxy(location, target, base) } : headers;
}

/**
 * Rewrites a URL of the backend to one of the proxy (upstream: util/proxy rewriteURL). Relative URLs stay unchanged.
 */
function throughProxy(url: string, { host, port }: DialTarget, base: string): string {
  if (url.startsWith('/') && !url.startsWith('//'))
    return url === base || url.startsWith(`${base}/`) ? url : base + url;
  const own = /^https?:\/\/([^/?#]+)(.*)$/.exec(url);
  const isSame = own !== null && [`${host}:${port}`, `[${host}]:${port}`, host].includes(own[1] ?? '');
  return isSame ? `${base}${own[2] === '' ? '/' : own[2]}` : url;
}

/** Returns the rewriter for links in a response, or undefined unless it is an HTML page in a readable encoding. */
function pageRewriting(
  { status, headers }: Pick<BackendAnswer, 'status' | 'headers'>,
  rewrite: (url: string) => string,
): readonly Duplex[] {
  const type = String(headers['content-type'] ?? '')
    .split(';', 1)[0]
    ?.trim()
    .toLowerCase();
  if (type !== 'text/html' || headers['location'] !== undefined || status === 204 || status === 304) return [];
  const encoding = headers['content-encoding'];
  if (encoding === 'gzip') return [createGunzip(), htmlLinks(rewrite), createGzip()];
  return encoding === undefined ? [htmlLinks(rewrite)] : [];
}
