/**
 * Answers names of the cluster's zone as CoreDNS's kubernetes plugin and the specification "Kubernetes DNS-Based
 * Service Discovery" 1.1.0 do.
 */
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';

/** The objects of the zone; read for every query. */
export interface ClusterView {
  /** The domain without a final dot: `cluster.local`. */
  readonly domain: string;
  /** Returns a number that increases with each change of the objects. */
  version(): number;
  hasNamespace(name: string): boolean;
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, name: string): readonly EndpointSlice[];
  /** Services with this cluster address. */
  servicesAt(ip: string): readonly Service[];
  /** Slices in which an endpoint has this address. */
  slicesWith(ip: string): readonly EndpointSlice[];
}

export type DnsRecord =
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'PTR' | 'NS' | 'TXT'; readonly name: string; readonly data: string }
  | {
      readonly type: 'SRV';
      readonly name: string;
      readonly data: {
        readonly priority: number;
        readonly weight: number;
        readonly port: number;
        readonly target: string;
      };
    }
  | { readonly type: 'SOA'; readonly name: string };

/**
 * The answer. `elsewhere` means that it is not a name of the cluster, so the query is forwarded to the node's name
 * servers.
 */
export type ClusterAnswer =
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'no-such-name' }
  /** If there are no answers, the name exists but has no records of that type. */
  | { readonly kind: 'found'; readonly answers: readonly DnsRecord[]; readonly additionals: readonly DnsRecord[] };

const found = (answers: readonly DnsRecord[], additionals: readonly DnsRecord[] = []): ClusterAnswer => ({
  kind: 'found',
  answers,
  additionals,
});
const noSuchName: ClusterAnswer = { kind: 'no-such-name' };
const SPECIFICATION = '1.1.0';

/** `name` as in the query, without a trailing dot. */
export function answerClusterName(name: string, type: string, view: ClusterView): ClusterAnswer {
  const lower = name.toLowerCase();
  if (lower.endsWith('.in-addr.arpa') || lower.endsWith('.ip6.arpa')) return answerReverse(name, lower, type, view);
  const { domain } = view;
  if (lower !== domain && !lower.endsWith(`.${domain}`)) return { kind: 'elsewhere' };
  const labels = lower === domain ? [] : lower.slice(0, -domain.length - 1).split('.');
  const [last, namespace, ...rest] = labels.reverse();
  if (last === undefined) return found(apexRecords(name, type, domain));
  if (last === 'dns-version' && namespace === undefined)
    return found(type === 'TXT' ? [{ type, name, data: SPECIFICATION }] : []);
  if (last === 'dns' && namespace === 'ns' && rest.length === 0) return found([]);
  if (last !== 'svc' && last !== 'pod') return noSuchName;
  if (namespace === undefined) return found([]);
  if (!view.hasNamespace(namespace)) return noSuchName;
  if (rest.length === 0) return found([]);
  return last === 'pod' ? answerPod(name, type, rest) : answerService({ name, type, namespace, rest, view });
}

function apexRecords(name: string, type: string, domain: string): DnsRecord[] {
  if (type === 'SOA') return [{ type, name }];
  return type === 'NS' ? [{ type, name, data: `ns.dns.${domain}` }] : [];
}

/**
 * Answers `10-84-0-2.NAMESPACE.pod.DOMAIN` with the address in the name, even if no such pod exists (CoreDNS: `pods
 * insecure`, kubeadm's choice).
 */
function answerPod(name: string, type: string, rest: readonly string[]): ClusterAnswer {
  const [text = '', ...more] = rest;
  if (more.length > 0) return noSuchName;
  const [v4, v6] = [text.replaceAll('-', '.'), text.replaceAll('-', ':')];
  if (isV4(v4)) return found(type === 'A' ? [{ type, name, data: v4 }] : []);
  if (isV6(v6)) return found(type === 'AAAA' ? [{ type, name, data: v6 }] : []);
  return noSuchName;
}

interface ServiceQuestion {
  readonly name: string;
  readonly type: string;
  readonly namespace: string;
  /** The labels before the namespace, from the right: the service, then its endpoint or port. */
  readonly rest: readonly string[];
  readonly view: ClusterView;
}

function answerService(question: ServiceQuestion): ClusterAnswer {
  const { name, type, namespace, rest, view } = question;
  const [serviceName = '', second, third, ...more] = rest;
  const service = view.service(namespace, serviceName);
  if (service === undefined || more.length > 0) return noSuchName;
  const { spec } = service;
  if (spec.type === 'ExternalName')
    return second === undefined ? answerExternalName(name, type, spec.externalName ?? '') : noSuchName;
  const asked = third === undefined ? { hostname: second } : { port: third, protocol: second };
  const base = `${serviceName}.${namespace}.svc.${view.domain}`;
  const targets = isHeadless(service)
    ? endpointTargets(view.slices(namespace, serviceName), base)
    : serviceTargets(service, base);
  if (asked.hostname !== undefined && !asked.hostname.startsWith('_'))
    return isHeadless(service)
      ? addresses(
          name,
          type,
          targets.filter(({ target }) => target === `${asked.hostname}.${base}`),
          false,
        )
      : answerEndpointName(question, base, asked.hostname);
  if (third === undefined && second?.startsWith('_') === true) return noSuchName;
  const chosen =
    'port' in asked
      ? targets.filter(({ portName, protocol }) => `_${portName}` === asked.port && `_${protocol}` === asked.protocol)
      : targets;
  if ('port' in asked) return chosen.length === 0 ? noSuchName : addresses(name, type, chosen, true);
  return addresses(name, type, chosen, type === 'SRV');
}

/** Answers the names of the endpoints of a service that has an address. */
function answerEndpointName(
  { name, type, namespace, rest, view }: ServiceQuestion,
  base: string,
  hostname: string,
): ClusterAnswer {
  const targets = endpointTargets(view.slices(namespace, rest[0] ?? ''), base).filter(
    ({ target }) => target === `${hostname}.${base}`,
  );
  return addresses(name, type, targets, false);
}

const isHeadless = ({ spec }: Service): boolean =>
  spec.clusterIP === 'None' || (spec.clusterIPs ?? [spec.clusterIP ?? ''])[0] === 'None';

interface Target {
  /** The name an SRV record points to. */
  readonly target: string;
  readonly ip: string;
  readonly portName: string;
  /** tcp, udp, sctp. */
  readonly protocol: string;
  readonly port: number;
}

function serviceTargets({ spec }: Service, base: string): Target[] {
  const ips = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((ip) => ip !== '');
  const ports = spec.ports ?? [];
  return ips.flatMap((ip) =>
    ports.map(({ name = '', protocol = 'TCP', port }) => ({
      target: base,
      ip,
      portName: name,
      protocol: protocol.toLowerCase(),
      port,
    })),
  );
}

/**
 * Returns the endpoints that have names: only ready ones, unless publishNotReadyAddresses is set; then the others are
 * published as ready.
 */
function endpointTargets(slices: readonly EndpointSlice[], base: string): Target[] {
  return slices.flatMap(({ endpoints, ports }) => {
    // A headless service may have no ports; its addresses are returned anyway.
    const named = (ports ?? []).length === 0 ? [{ name: '', protocol: 'TCP', port: 0 }] : (ports ?? []);
    return (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses: list, hostname }) =>
        list.flatMap((ip) =>
          named.map(({ name = '', protocol = 'TCP', port = 0 }) => ({
            target: `${hostname ?? dashed(ip)}.${base}`,
            ip,
            portName: name,
            protocol: protocol.toLowerCase(),
            port,
          })),
        ),
      );
  });
}

const dashed = (ip: string): string => ip.replaceAll(/[.:]/g, '-');
const isDnsName = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((label) => label.length >= 1 && label.length <= 63);
const isV4 = (text: string): boolean => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text);
const isV6 = (text: string): boolean => /^[0-9a-f:]{2,39}$/.test(text) && URL.canParse(`http://[${text}]/`);

function addresses(name: string, type: string, targets: readonly Target[], withPorts: boolean): ClusterAnswer {
  // The specification requires this answer, too, for a headless service without ready endpoints.
  if (targets.length === 0) return noSuchName;
  const wanted = unique(targets.map(({ ip }) => ip));
  if (type === 'A') return found(wanted.filter(isV4).map((data) => ({ type, name, data })));
  if (type === 'AAAA') return found(wanted.filter((ip) => ip.includes(':')).map((data) => ({ type, name, data })));
  if (type !== 'SRV') return found([]);
  const pointed = withPorts ? targets.filter(({ port }) => port > 0) : [];
  const weight = Math.max(1, Math.floor(100 / Math.max(1, pointed.length)));
  const answers = new Map(
    pointed.map(({ target, port }) => [
      `${target}:${port}`,
      { type: 'SRV' as const, name, data: { priority: 0, weight, port, target } },
    ]),
  );
  const hosts = new Map(
    pointed.map(({ target, ip }) => [
      `${target} ${ip}`,
      { type: isV4(ip) ? ('A' as const) : ('AAAA' as const), name: target, data: ip },
    ]),
  );
  return found([...answers.values()], [...hosts.values()]);
}

function answerExternalName(name: string, type: string, target: string): ClusterAnswer {
  // The API accepts names that DNS cannot represent; encoded, they would be read as another name.
  if (!isDnsName(target.replace(/\.$/, ''))) return noSuchName;
  return found(['A', 'AAAA', 'CNAME'].includes(type) ? [{ type: 'CNAME', name, data: target.replace(/\.$/, '') }] : []);
}

/** Answers the addresses of services and of their endpoints. The node's name servers may know other addresses. */
function answerReverse(name: string, lower: string, type: string, view: ClusterView): ClusterAnswer {
  const ip = reverseAddress(lower);
  if (ip === undefined) return { kind: 'elsewhere' };
  const names = [
    ...view.servicesAt(ip).map(({ metadata }) => `${metadata.name}.${metadata.namespace}.svc.${view.domain}`),
    ...view.slicesWith(ip).flatMap(({ metadata, endpoints }) => {
      const service = metadata.labels?.['kubernetes.io/service-name'];
      const endpoint = (endpoints ?? []).find(({ addresses: list }) => list.includes(ip));
      return service === undefined || endpoint === undefined
        ? []
        : [`${endpoint.hostname ?? dashed(ip)}.${service}.${metadata.namespace}.svc.${view.domain}`];
    }),
  ];
  if (names.length === 0) return { kind: 'elsewhere' };
  return found(type === 'PTR' ? unique(names).map((data) => ({ type, name, data })) : []);
}

function reverseAddress(lower: string): string | undefined {
  const labels = lower.split('.').slice(0, -2).reverse();
  if (lower.endsWith('.in-addr.arpa')) return isV4(labels.join('.')) ? labels.join('.') : undefined;
  if (labels.length !== 32 || !labels.every((label) => /^[0-9a-f]$/.test(label))) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => labels.slice(index * 4, index * 4 + 4).join(''));
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

const unique = (list: readonly string[]): string[] => [...new Set(list)];
