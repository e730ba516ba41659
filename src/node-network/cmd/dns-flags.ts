import { canonicalIp } from '../../base/ip-address.ts';
import type { NameServer, StubDomains } from '../dns/name-servers.ts';
import { parseNameServer, parseStubDomain } from '../dns/name-servers.ts';

export interface DnsOptions {
  readonly listen: readonly { readonly address: string; readonly port: number }[];
  /** Addresses of the node that only its own pods use, on a separate device. */
  readonly local: { readonly addresses: readonly string[]; readonly device: string } | undefined;
  readonly domain: string;
  readonly resolvConf: string;
  /** Queried instead of the name servers in the file. */
  readonly upstream: readonly NameServer[];
  readonly stubDomains: StubDomains;
  /** The maximum time that responses of other name servers are cached; 0 turns the cache off. */
  readonly cacheSeconds: number;
}

/** The name that the Kubernetes add-on uses. */
const LOCAL_DEVICE = 'nodelocaldns';
const MAX_CACHE_SECONDS = 3600;

export interface DnsValues {
  readonly 'dns-listen': readonly string[];
  readonly 'dns-local-address': readonly string[];
  readonly 'dns-local-device'?: string | undefined;
  readonly 'dns-upstream': readonly string[];
  readonly 'dns-stub-domain': readonly string[];
  readonly 'dns-cache-seconds'?: string | undefined;
  readonly 'cluster-domain'?: string | undefined;
  readonly 'resolv-conf'?: string | undefined;
}

/** Reads the options; undefined if there is no DNS service. A string is the error. */
export function readDnsOptions(values: DnsValues): DnsOptions | undefined | string {
  const { 'dns-listen': given, 'dns-local-address': givenLocal } = values;
  if (given.length + givenLocal.length === 0) return undefined;
  const wrongListen = given.find((text) => listenAddress(text) === undefined);
  if (wrongListen !== undefined) return `--dns-listen: ${JSON.stringify(wrongListen)} is not IP:PORT`;
  const wrongLocal = givenLocal.find((text) => canonicalIp(text) === undefined);
  if (wrongLocal !== undefined)
    return `--dns-local-address: ${JSON.stringify(wrongLocal)} is not an IP address such as 169.254.20.10`;
  const local = givenLocal.flatMap((text) => canonicalIp(text) ?? []);
  const device = values['dns-local-device'] ?? LOCAL_DEVICE;
  if (!/^[A-Za-z][A-Za-z0-9._-]{0,14}$/.test(device))
    return `--dns-local-device: ${JSON.stringify(device)} is not the name of a device`;
  const upstream = values['dns-upstream'].map((text) => [text, parseNameServer(text)] as const);
  const wrongServer = upstream.find(([, server]) => server === undefined);
  if (wrongServer !== undefined) return `--dns-upstream: ${JSON.stringify(wrongServer[0])} is not IP or IP:PORT`;
  const stubs = values['dns-stub-domain'].map((text) => [text, parseStubDomain(text)] as const);
  const wrongStub = stubs.find(([, stub]) => stub === undefined);
  if (wrongStub !== undefined) return `--dns-stub-domain: ${JSON.stringify(wrongStub[0])} is not DOMAIN=IP[:PORT],...`;
  const seconds = values['dns-cache-seconds'] ?? '30';
  if (!/^\d{1,4}$/.test(seconds) || Number(seconds) > MAX_CACHE_SECONDS)
    return `--dns-cache-seconds must be a number from 0 to ${MAX_CACHE_SECONDS}, not ${JSON.stringify(seconds)}`;
  return {
    listen: given.flatMap((text) => listenAddress(text) ?? []),
    local: local.length === 0 ? undefined : { addresses: local, device },
    domain: values['cluster-domain'] ?? 'cluster.local',
    resolvConf: values['resolv-conf'] ?? '/etc/resolv.conf',
    upstream: upstream.flatMap(([, server]) => server ?? []),
    stubDomains: new Map(stubs.flatMap(([, stub]) => (stub === undefined ? [] : [[stub.domain, stub.servers]]))),
    cacheSeconds: Number(seconds),
  };
}

/** Parses `IP:PORT` or `[IP6]:PORT`. Port 0 means a free one. */
function listenAddress(text: string): { address: string; port: number } | undefined {
  const [, six, four, port = ''] = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = canonicalIp(six ?? four ?? '');
  return address === undefined || Number(port) > 65_535 ? undefined : { address, port: Number(port) };
}
