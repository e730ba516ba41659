import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { addressScope, isOutward, parseHostAddress } from '../../../base/ip-address.ts';
import type { IpBytes } from '../../../base/ip-address.ts';
import type { DialTarget } from '../options.ts';

/** The last part of a proxy path: `name`, `name:port` or `scheme:name:port`. */
export interface ProxyName {
  readonly scheme: '' | 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

export function parseProxyName(id: string, what: 'pod' | 'service' | 'node'): ProxyName {
  const parts = id.split(':');
  const [scheme, name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  if (parts.length > 3 || name === '' || (scheme !== '' && scheme !== 'http' && scheme !== 'https'))
    throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return { scheme, name, port };
}

export function podTarget({ scheme, port }: ProxyName, pod: Pod): DialTarget {
  const declared = pod.spec.containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort;
  const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '';
  if (!isOutward(host)) throw badRequest('address not allowed');
  const wanted = port === '' ? (declared ?? (scheme === 'https' ? 443 : 80)) : portNumber(port);
  return { host, port: wanted, security: scheme === 'https' ? 'tls-insecure' : 'none' };
}

/** The fields of core/v1 Endpoints that are used here. */
export interface ReadyEndpoints {
  readonly subsets?: readonly {
    readonly addresses?: readonly {
      readonly ip?: string;
      readonly targetRef?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
    }[];
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  }[];
}

export interface ServiceCandidate {
  readonly target: DialTarget;
  /** The pod to which the address should belong. */
  readonly podName: string;
}

export const noEndpoints = (name: string): ApiStatusError =>
  new ApiStatusError('ServiceUnavailable', `no endpoints available for service ${JSON.stringify(name)}`);

/**
 * Returns the service's ready addresses, in order from a random start. Only addresses of pods are used, so that
 * permission to write Endpoints does not give access to any host.
 */
export function serviceCandidates(
  { scheme, name, port }: ProxyName,
  {
    service,
    endpoints,
    random,
  }: { readonly service: Service; readonly endpoints: ReadyEndpoints; readonly random: () => number },
): readonly ServiceCandidate[] {
  const portName = /^[+-]?\d+$/.test(port) ? namedPort(service, Number(port), name) : port;
  const found: ServiceCandidate[] = (endpoints.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const match = ports.find((each) => (each.name ?? '') === portName);
    if (match?.port === undefined) return [];
    const target = { port: match.port, security: scheme === 'https' ? 'tls-insecure' : 'none' } as const;
    const ofPods = addresses.filter(
      ({ ip = '', targetRef }) =>
        isOutward(ip) &&
        targetRef?.kind === 'Pod' &&
        (targetRef.namespace ?? service.metadata.namespace) === service.metadata.namespace,
    );
    return ofPods.map(({ ip = '', targetRef }) => ({
      target: { ...target, host: ip },
      podName: targetRef?.name ?? '',
    }));
  });
  const first = Math.floor(random() * found.length);
  return [...found.slice(first), ...found.slice(0, first)];
}

function namedPort(service: Service, port: number, name: string): string {
  const found = service.spec.ports?.find((each) => each.port === port);
  if (found === undefined)
    throw new ApiStatusError('ServiceUnavailable', `no service port ${port} found for service ${JSON.stringify(name)}`);
  return found.name ?? '';
}

export function portNumber(port: string): number {
  const value = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (value < 1 || value > 65_535) throw badRequest(`invalid port ${JSON.stringify(port)}`);
  return value;
}

/**
 * Whether the address may be proxied. Loopback and link-local addresses may not, because permission to use the proxy
 * must not give access to local services of this machine.
 */
export const isProxyableAddress = (address: IpBytes): boolean => addressScope(address) === 'other';

/**
 * Whether the address of a node may be proxied, in any notation that the system accepts. Names are allowed here; the
 * dialer checks the addresses to which they resolve.
 */
export function isProxyableNode(host: string): boolean {
  const address = parseHostAddress(host);
  if (address !== undefined) return isProxyableAddress(address);
  return /^[\d._-]*[a-z][a-z\d._-]*$/i.test(host) && !/(^|\.)localhost(\.localdomain)?\.?$/i.test(host);
}
