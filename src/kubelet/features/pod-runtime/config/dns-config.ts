import type { PodDNSConfig } from '../../../../api/core/pod-spec.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { goQuote } from '../../../../api/go-quote.ts';
import { isHostNetwork } from '../../../../api/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';

export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** A warning, recorded as an event of the pod or of the node. */
export interface DnsRemark {
  readonly about: 'pod' | 'node';
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  readonly message: string;
}

export interface DnsSettings {
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  /** The content of the node's resolv.conf; undefined when the agent is configured to use none. */
  readonly host: DnsConfig | undefined;
  readonly hostIps: readonly string[];
}

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
/** The number of cluster domains that a pod searches first. */
const CLUSTER_SEARCHES = 3;
const MAX_SEARCH_CHARS = 2048;
const MAX_SEARCH_LENGTH = 253;

/**
 * Reads a resolv.conf (upstream: network/dns parseResolvConf): name servers add up, the last search line wins, options
 * merge by name. Throws `Invalid` for a name server without an address.
 */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...fields] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      if (fields[0] === undefined)
        throw new KubeletError(
          'Invalid',
          'Encountered error while parsing resolv conf file. Error: nameserver list is empty ',
        );
      servers.push(fields[0]);
    }
    if (keyword === 'search')
      searches = fields.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    if (keyword === 'options') for (const option of fields) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

/**
 * Returns which limits for ClusterFirst pods the node's own resolv.conf exceeds (upstream: network/dns
 * CheckLimitsForResolvConf).
 */
export function nodeResolverProblem(
  { searches }: DnsConfig,
  { path, clusterDomain }: { path: string; clusterDomain: string },
): string | undefined {
  const most = clusterDomain === '' ? MAX_SEARCHES : MAX_SEARCHES - CLUSTER_SEARCHES;
  if (searches.length > most)
    return `Resolv.conf file '${path}' contains search line consisting of more than ${most} domains!`;
  if (searches.some((domain) => domain.length > MAX_SEARCH_LENGTH))
    return `Resolv.conf file ${goQuote(path)} contains a search path which length is more than allowed ${MAX_SEARCH_LENGTH} chars!`;
  return searches.join(' ').length > MAX_SEARCH_CHARS
    ? `Resolv.conf file '${path}' contains search line which length is more than allowed ${MAX_SEARCH_CHARS} chars!`
    : undefined;
}

/** Computes the resolver configuration of a pod, with warnings for the user (upstream: network/dns GetPodDNS). */
export function computePodDns(pod: Pod, settings: DnsSettings): { dns: DnsConfig; remarks: DnsRemark[] } {
  const remarks: DnsRemark[] = [];
  const base = policyBase(pod, settings, remarks);
  const merged = pod.spec.dnsConfig === undefined ? base : mergeDns(base, pod.spec.dnsConfig);
  return { dns: fitLimits(merged, remarks), remarks };
}

function policyBase(pod: Pod, settings: DnsSettings, remarks: DnsRemark[]): DnsConfig {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const wantsCluster = policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && !isHostNetwork(pod));
  const host = hostBase(settings);
  if (!wantsCluster) return host;
  const { clusterDns, clusterDomain } = settings;
  if (clusterDns.length === 0) {
    const { name, namespace, uid } = pod.metadata;
    const message =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    remarks.push(
      { about: 'node', reason: 'MissingClusterDNS', message },
      { about: 'pod', reason: 'MissingClusterDNS', message: `pod: "${name}_${namespace}(${uid})". ${message}` },
    );
    return host;
  }
  const hostSearches = settings.host?.searches ?? [];
  const cluster =
    clusterDomain === ''
      ? []
      : [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: unique([...cluster, ...hostSearches]), options: ['ndots:5'] };
}

/**
 * Returns the configuration from the host. Without a resolv.conf, the local machine is the server and no domain is
 * searched, so that lookups fail fast.
 */
function hostBase({ host, hostIps }: DnsSettings): DnsConfig {
  if (host !== undefined) return host;
  const servers = hostIps.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
  return { servers: servers.length === 0 ? ['127.0.0.1'] : servers, searches: ['.'], options: [] };
}

function mergeDns(base: DnsConfig, own: PodDNSConfig): DnsConfig {
  const options = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name = '', value = '' } of own.options ?? [])
    options.set(name, value === '' ? name : `${name}:${value}`);
  return {
    servers: unique([...base.servers, ...(own.nameservers ?? [])]),
    searches: unique([...base.searches, ...(own.searches ?? [])]),
    options: [...options.values()],
  };
}

function fitLimits(dns: DnsConfig, remarks: DnsRemark[]): DnsConfig {
  const servers = dns.servers.slice(0, MAX_SERVERS);
  if (servers.length < dns.servers.length) {
    remarks.push({
      about: 'pod',
      reason: 'DNSConfigForming',
      message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    });
  }
  const searches = dns.searches.slice(0, MAX_SEARCHES).filter((domain) => domain.length <= MAX_SEARCH_LENGTH);
  while (searches.join(' ').length > MAX_SEARCH_CHARS) searches.pop();
  if (searches.length < dns.searches.length) {
    remarks.push({
      about: 'pod',
      reason: 'DNSConfigForming',
      message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    });
  }
  return { servers, searches, options: dns.options };
}

function optionName(option: string): string {
  return option.split(':', 1)[0] ?? option;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
