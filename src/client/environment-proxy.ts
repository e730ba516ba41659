import { BlockList, isIP } from 'node:net';
import { KubeletError } from '../base/errors.ts';
import { isSameIp } from '../base/ip-address.ts';
import { isLoopbackHost } from '../base/loopback-host.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for a server: HTTPS_PROXY or HTTP_PROXY, by its scheme, unless NO_PROXY names
 * the server (Go's net/http ProxyFromEnvironment). Requests to this machine never use a proxy. Throws `Invalid` for a
 * proxy with another scheme than `http:`.
 */
export function proxyOfEnvironment(server: string, env: Environment): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const given = valueOf(env, name);
  if (
    given === undefined ||
    isLoopbackHost(host) ||
    isExcepted(host, port === '' ? (protocol === 'https:' ? '443' : '80') : port, valueOf(env, 'NO_PROXY') ?? '')
  )
    return undefined;
  const proxy = given.includes('://') ? given : `http://${given}`;
  if (!URL.canParse(proxy) || new URL(proxy).protocol !== 'http:')
    throw new KubeletError('Invalid', `the proxy that ${name} names is not supported here; only http: is`, {
      op: 'read environment',
    });
  return proxy;
}

function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name] ?? env[name.toLowerCase()];
  return value === undefined || value === '' ? undefined : value;
}

/**
 * Entries are `*`, names (with their subdomains), `.names` (only their subdomains), addresses and networks; each may
 * have a port.
 */
function isExcepted(host: string, port: string, list: string): boolean {
  return list.split(',').some((each) => {
    const entry = each.trim().toLowerCase();
    if (entry === '') return false;
    if (entry === '*') return true;
    if (entry.includes('/')) return isWithin(host, entry);
    const [, name = entry, wanted] = /^\[?(.*?)\]?:(\d+)$/.exec(isIP(entry) === 6 ? '' : entry) ?? [];
    if (wanted !== undefined && wanted !== port) return false;
    if (isIP(host) !== 0) return isSameIp(name, host);
    const below = name.replace(/^\*?\./, '');
    return host.endsWith(`.${below}`) || (name === below && host === name);
  });
}

function isWithin(host: string, network: string): boolean {
  const [address = '', bits = ''] = network.split('/');
  const [family, hostFamily] = [isIP(address), isIP(host)];
  if (family === 0 || family !== hostFamily || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, Number(bits), kind);
  return list.check(host, kind);
}
