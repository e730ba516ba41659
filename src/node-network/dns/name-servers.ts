/** The name servers for names outside the cluster. Pure. */
import { canonicalIp } from '../../base/ip-address.ts';

export interface NameServer {
  readonly ip: string;
  readonly port: number;
}

/** Domains that have their own name servers (the stub domains of kube-dns). */
export type StubDomains = ReadonlyMap<string, readonly NameServer[]>;

const PORT = 53;
/** The limit of the C library. */
export const MAX_SERVERS = 3;

/** `IP`, `IP:PORT` or `[IP6]:PORT`; undefined for anything else. */
export function parseNameServer(text: string): NameServer | undefined {
  const [, bracketed, bracketPort] = /^\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?$/.exec(text) ?? [];
  const [, plain, plainPort] = /^(\d+\.\d+\.\d+\.\d+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const ip = canonicalIp(bracketed ?? plain ?? text);
  const port = Number(bracketPort ?? plainPort ?? PORT);
  return ip === undefined || port < 1 || port > 65_535 ? undefined : { ip, port };
}

/** `DOMAIN=SERVER,...`; undefined for anything else. */
export function parseStubDomain(
  text: string,
): { readonly domain: string; readonly servers: readonly NameServer[] } | undefined {
  const at = text.indexOf('=');
  const domain = text.slice(0, Math.max(at, 0)).toLowerCase().replace(/\.$/, '');
  const servers = text
    .slice(at + 1)
    .split(',')
    .map(parseNameServer);
  const found = servers.flatMap((server) => server ?? []);
  return isDomain(domain) && found.length === servers.length ? { domain, servers: found } : undefined;
}

const isDomain = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/.test(text);

/** The servers of the longest domain that contains the name; undefined if no domain does. */
export function stubServers(name: string, stubs: StubDomains): readonly NameServer[] | undefined {
  if (stubs.size === 0) return undefined;
  for (let rest = name.toLowerCase().replace(/\.$/, ''); rest !== ''; ) {
    const servers = stubs.get(rest);
    if (servers !== undefined) return servers;
    const dot = rest.indexOf('.');
    rest = dot < 0 ? '' : rest.slice(dot + 1);
  }
  return undefined;
}
