import { canonicalIp } from '../../base/ip-address.ts';
import { parseIpPrefix } from '../../base/ip-prefix.ts';
import type { OverlayOptions } from '../overlay/overlay-manager.ts';
import type { Family } from '../overlay/overlay-node.ts';
import { rangeOf } from '../overlay/overlay-node.ts';

const SUBNET_FILE = '/run/flannel/subnet.env';
const backends = ['vxlan', 'host-gw', 'observe'] as const;
/** The kernel's limit for names of devices. */
const deviceName = /^[A-Za-z][A-Za-z0-9._-]{0,14}$/;
/** A prefix that fits, with the longest suffix of a chain, into the kernel's 28 characters. */
const chainPrefixName = /^[A-Za-z][A-Za-z0-9-]{0,13}$/;

type Values = Readonly<Record<string, unknown>>;

/** Reads the options; undefined if there is no overlay. A string is the error. */
export function readOverlayOptions(values: Values, nodeName: string): OverlayOptions | undefined | string {
  const text = (name: string): string | undefined => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  const asked = text('overlay');
  if (asked === undefined) return undefined;
  const backend = backends.find((each) => each === asked);
  if (backend === undefined) return `--overlay: ${JSON.stringify(asked)} is not one of ${backends.join(', ')}`;
  const cidrs = (text('cluster-cidr') ?? '').split(',').filter((each) => each !== '');
  if (cidrs.length === 0) return '--overlay needs --cluster-cidr';
  const wrongRange = cidrs.find((cidr) => parseIpPrefix(cidr) === undefined);
  if (wrongRange !== undefined)
    return `--cluster-cidr: ${JSON.stringify(wrongRange)} is not a range such as 10.244.0.0/16`;
  const ips = (text('public-ip') ?? '').split(',').filter((each) => each !== '');
  const wrongIp = ips.find((ip) => canonicalIp(ip) === undefined);
  if (wrongIp !== undefined) return `--public-ip: ${JSON.stringify(wrongIp)} is not an IP address`;
  const vni = numberIn(text('overlay-vni') ?? '1', 1, 2 ** 24 - 1);
  if (vni === undefined) return '--overlay-vni must be a number from 1 to 16777215';
  const port = numberIn(text('overlay-port') ?? '8472', 1, 65_535);
  if (port === undefined) return '--overlay-port must be a number from 1 to 65535';
  const bridge = text('cni-bridge') ?? 'cni0';
  if (!deviceName.test(bridge)) return `--cni-bridge: ${JSON.stringify(bridge)} is not the name of a device`;
  const chainPrefix = text('overlay-chain-prefix') ?? 'KTO';
  if (!chainPrefixName.test(chainPrefix))
    return `--overlay-chain-prefix: ${JSON.stringify(chainPrefix)} is not a name of at most 14 letters, digits and dashes`;
  const [file, subnetFile] = [text('cni-config'), text('subnet-file') ?? SUBNET_FILE];
  return {
    nodeName,
    backend,
    vni,
    port,
    networks: byFamily((family) => rangeOf(cidrs, family)),
    publicIps: byFamily((family) =>
      ips.flatMap((ip) => canonicalIp(ip) ?? []).find((ip) => ip.includes(':') === (family === 'ipv6')),
    ),
    serviceCidrs: byFamily((family) => rangeOf((text('service-cidr') ?? '').split(','), family)),
    chainPrefix,
    subnetFile: subnetFile === '' ? undefined : subnetFile,
    cni:
      file === undefined
        ? undefined
        : { file, bridge, networkName: text('cni-network') ?? 'cbr0', dataDir: text('cni-data-dir') },
  };
}

function byFamily(read: (family: Family) => string | undefined): Partial<Record<Family, string>> {
  const [ipv4, ipv6] = [read('ipv4'), read('ipv6')];
  return { ...(ipv4 !== undefined && { ipv4 }), ...(ipv6 !== undefined && { ipv6 }) };
}

function numberIn(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,8}$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : undefined;
}
