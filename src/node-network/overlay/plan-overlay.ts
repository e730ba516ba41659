import { createHash } from 'node:crypto';
import { containsPrefix, parseIpPrefix, PrefixOwners } from '../../base/ip-prefix.ts';
import { isInPrefix, isSpecialAddress } from '../service-routing/ip-family.ts';
import type {
  ForwardingEntry,
  KernelLink,
  KernelNeighbour,
  KernelState,
  NetworkStep,
  VxlanSettings,
} from './kernel-network.ts';
import { ROUTE_PROTOCOL } from './kernel-network.ts';
import type { Backend, Endpoint, Family, Peer } from './overlay-node.ts';
import { addressIn } from './overlay-node.ts';

/** The size of the headers that VXLAN adds to a packet: outer Ethernet, IP, UDP and VXLAN. */
const vxlanBytes = { ipv4: 50, ipv6: 70 } as const satisfies Record<Family, number>;

export interface OverlaySettings {
  /** `observe` adds routes to the pods of all nodes, without being a node. */
  readonly backend: Backend | 'observe';
  readonly vni: number;
  readonly port: number;
}

/** This node in one IP family. */
export interface OwnSide {
  readonly nodeName: string;
  /** The range of all pods. Nodes with another range are left out. */
  readonly network: string;
  /** The range of this node; undefined for an observer. */
  readonly range: string | undefined;
  readonly publicIp: string;
  /** The device that has `publicIp`. */
  readonly device: string;
  readonly deviceMtu: number;
  /** The hardware address in the node's annotation. Other nodes use it, so a recreated device gets the same one. */
  readonly knownMac: string | undefined;
}

export interface OverlayPlan {
  readonly steps: readonly NetworkStep[];
  /** The MAC address of the VXLAN device, if it exists after the steps. */
  readonly mac: string | undefined;
  readonly mtu: number;
  /** The nodes that are left out, and the reasons. */
  readonly refused: readonly { readonly name: string; readonly why: string }[];
}

/** The kernel's limit for names of devices. */
const LONGEST_NAME = 15;

/** Returns flannel's name of the device, shortened if the kernel would refuse it. */
export function vxlanDevice(family: Family, vni: number): string {
  const [name, short] = family === 'ipv4' ? ['flannel', 'flan'] : ['flannel-v6', 'flan6'];
  return `${name}.${vni}`.length <= LONGEST_NAME ? `${name}.${vni}` : `${short}.${vni}`;
}

/**
 * Plans the steps from `actual` to the desired state, in one IP family; none if they are equal. Stale entries are
 * removed before others are added. The cost is linear in nodes and entries.
 */
export function planOverlay(
  family: Family,
  own: OwnSide,
  { settings, peers, actual }: { settings: OverlaySettings; peers: readonly Peer[]; actual: KernelState },
): OverlayPlan {
  const { accepted, refused } = selectPeers(family, own, { settings, peers });
  if (settings.backend === 'vxlan') return { ...planVxlan(family, own, { settings, accepted, actual }), refused };
  const routes = accepted.map(({ range, publicIp }) => ({
    range,
    gateway: publicIp,
    device: own.device,
    onlink: false,
  }));
  return {
    // The device has the routes of both families.
    steps: planRoutes(
      own.device,
      routes,
      actual,
      (route) => route.protocol === ROUTE_PROTOCOL && route.range.includes(':') === (family === 'ipv6'),
    ),
    mac: undefined,
    mtu: own.deviceMtu,
    refused,
  };
}

/**
 * Selects the other nodes that can be reached. A range that overlaps this node's range or that of an earlier node would
 * take its traffic, so the later node is left out.
 */
function selectPeers(
  family: Family,
  own: OwnSide,
  { settings, peers }: { settings: OverlaySettings; peers: readonly Peer[] },
): { accepted: readonly Endpoint[]; refused: { name: string; why: string }[] } {
  const accepted: Endpoint[] = [];
  const refused: { name: string; why: string }[] = [];
  const [network, ownPrefix] = [parseIpPrefix(own.network), parseIpPrefix(own.range ?? '')];
  const ranges = new PrefixOwners();
  if (ownPrefix !== undefined) ranges.add(ownPrefix, 'this node');
  const macs = new Set<string>();
  const reasonAgainst = (peer: Peer, { range, mac, publicIp }: Endpoint): string | undefined => {
    if (settings.backend !== 'observe' && peer.backend !== settings.backend) return `its backend is ${peer.backend}`;
    const prefix = parseIpPrefix(range);
    if (network === undefined || prefix === undefined || !containsPrefix(network, prefix))
      return `its range ${range} is not part of ${own.network}`;
    const owner = ranges.overlapping(prefix);
    if (owner !== undefined) return `its range ${range} overlaps the range of ${owner}`;
    if (publicIp === own.publicIp) return `it has the address of this node, ${publicIp}`;
    if (isSpecialAddress(publicIp) || isInPrefix(publicIp, own.network))
      return `${publicIp} is not the address of a machine`;
    if (settings.backend !== 'vxlan') return undefined;
    if (mac === undefined) return 'it names no hardware address';
    return macs.has(mac) ? `another node has the hardware address ${mac}` : undefined;
  };
  for (const peer of peers.toSorted((left, right) => (ageOf(left) < ageOf(right) ? -1 : 1))) {
    const endpoint = peer[family];
    if (peer.name === own.nodeName || endpoint === undefined) continue;
    const why = reasonAgainst(peer, endpoint);
    if (why !== undefined) {
      refused.push({ name: peer.name, why });
      continue;
    }
    const prefix = parseIpPrefix(endpoint.range);
    if (prefix !== undefined) ranges.add(prefix, `node ${peer.name}`);
    if (endpoint.mac !== undefined) macs.add(endpoint.mac);
    accepted.push(endpoint);
  }
  return { accepted, refused };
}

const ageOf = ({ since, name }: Peer): string => `${since} ${name}`;

function planVxlan(
  family: Family,
  own: OwnSide,
  { settings, accepted, actual }: { settings: OverlaySettings; accepted: readonly Endpoint[]; actual: KernelState },
): Omit<OverlayPlan, 'refused'> {
  const name = vxlanDevice(family, settings.vni);
  const mtu = own.deviceMtu - vxlanBytes[family];
  const wanted: VxlanSettings = {
    vni: settings.vni,
    port: settings.port,
    local: own.publicIp,
    via: own.device,
    learning: false,
  };
  const found = actual.links.find((link) => link.name === name);
  const isUsable = found?.vxlan !== undefined && sameVxlan(found.vxlan, wanted);
  const device = isUsable ? found : undefined;
  const mac = device?.mac ?? own.knownMac ?? stableMac(`${own.nodeName}/${name}`);
  const address = `${addressIn(own.range ?? '', 0)}/${family === 'ipv4' ? 32 : 128}`;
  const steps: NetworkStep[] = [];
  if (found !== undefined && !isUsable) steps.push({ kind: 'deleteLink', name });
  if (device === undefined) steps.push({ kind: 'createVxlan', name, mac, mtu, vxlan: wanted });
  else steps.push(...planLink(device, mtu, address));
  if (device === undefined) steps.push({ kind: 'addAddress', device: name, address }, { kind: 'setLink', name, mtu });
  // When the device was recreated, its entries are gone.
  const present = device === undefined ? { ...actual, routes: [], neighbours: [], forwarding: [] } : actual;
  const routes = accepted.map(({ range }) => ({ range, gateway: addressIn(range, 0), device: name, onlink: true }));
  const [removed, added] = split(planRoutes(name, routes, present, ({ protocol }) => protocol !== 'kernel'));
  const entries = planEntries(name, accepted, present);
  steps.push(...removed, ...entries, ...added);
  return { steps, mac, mtu };
}

function planLink(device: KernelLink, mtu: number, address: string): NetworkStep[] {
  return [
    ...device.addresses
      .filter((each) => each !== address)
      .map((each) => ({ kind: 'deleteAddress' as const, device: device.name, address: each })),
    ...(device.addresses.includes(address) ? [] : [{ kind: 'addAddress' as const, device: device.name, address }]),
    ...(device.isUp && device.mtu === mtu ? [] : [{ kind: 'setLink' as const, name: device.name, mtu }]),
  ];
}

function sameVxlan(left: VxlanSettings, right: VxlanSettings): boolean {
  return (
    left.vni === right.vni &&
    left.port === right.port &&
    left.local === right.local &&
    left.via === right.via &&
    left.learning === right.learning
  );
}

const split = (steps: readonly NetworkStep[]): [NetworkStep[], NetworkStep[]] => [
  steps.filter(({ kind }) => kind === 'deleteRoute'),
  steps.filter(({ kind }) => kind !== 'deleteRoute'),
];

/** Plans the routes. `isOurs` decides which routes on the device may be removed. */
function planRoutes(
  device: string,
  wanted: readonly { range: string; gateway: string; device: string; onlink: boolean }[],
  actual: KernelState,
  isOurs: (route: KernelState['routes'][number]) => boolean,
): NetworkStep[] {
  const byRange = new Map(wanted.map((route) => [route.range, route]));
  const there = new Set<string>();
  const steps: NetworkStep[] = [];
  for (const route of actual.routes.filter((each) => each.device === device)) {
    const asked = byRange.get(route.range);
    if (asked !== undefined && asked.gateway === route.gateway) there.add(route.range);
    else if (asked === undefined && isOurs(route)) steps.push({ kind: 'deleteRoute', ...route });
  }
  for (const route of wanted) if (!there.has(route.range)) steps.push({ kind: 'replaceRoute', ...route });
  return steps;
}

/**
 * Plans the neighbours and forwarding entries of a VXLAN device: the MAC address of each node, and the address of its
 * machine.
 */
function planEntries(device: string, peers: readonly Endpoint[], actual: KernelState): NetworkStep[] {
  const neighbours = new Map<string, KernelNeighbour>();
  const forwarding = new Map<string, ForwardingEntry>();
  for (const { range, mac = '', publicIp } of peers) {
    const ip = addressIn(range, 0);
    neighbours.set(ip, { ip, mac, device });
    forwarding.set(mac, { mac, remote: publicIp, device });
  }
  const removed: NetworkStep[] = [];
  const added: NetworkStep[] = [];
  for (const each of actual.forwarding.filter((entry) => entry.device === device)) {
    if (forwarding.get(each.mac)?.remote === each.remote) forwarding.delete(each.mac);
    else removed.push({ kind: 'deleteForwarding', ...each });
  }
  for (const each of actual.neighbours.filter((entry) => entry.device === device)) {
    const asked = neighbours.get(each.ip);
    if (asked === undefined) removed.push({ kind: 'deleteNeighbour', ...each });
    else if (asked.mac === each.mac) neighbours.delete(each.ip);
  }
  for (const each of forwarding.values()) added.push({ kind: 'replaceForwarding', ...each });
  for (const each of neighbours.values()) added.push({ kind: 'replaceNeighbour', ...each });
  return [...removed, ...added];
}

/** Returns a locally administered MAC address, which is always the same for a node. */
function stableMac(seed: string): string {
  const digest = createHash('sha256').update(seed).digest('hex');
  return `02:${(digest.slice(0, 10).match(/../g) ?? []).join(':')}`;
}
