/** A network namespace that acts as a machine on the bridge of a cluster. */
import { existsSync } from 'node:fs';
import { runCommand, tryCommand } from './commands.ts';
import type { Instance } from './instance.ts';
import { familyOf } from './ip-families.ts';

const spaceOf = ({ id }: Instance): string => `kts-${id}`;
/** The bridge's end of the veth pair. */
const cableOf = ({ id }: Instance): string => `ktv${id}`;
const isThere = (name: string): boolean => existsSync(`/run/netns/${name}`);

/** The prefix of commands that run on the node: with its network and host name, and the machine's files. */
export const enterNode = (node: Instance, hostname: string): readonly string[] => [
  ...['nsenter', `--net=/run/netns/${spaceOf(node)}`, 'unshare', '--uts'],
  ...['sh', '-c', 'hostname "$0" && exec "$@"', hostname],
];

export interface NodeAddress {
  /** The bridge that acts as the network between the machines. */
  readonly bridge: string;
  /** One for each family. */
  readonly links: readonly {
    /** With the prefix length. */
    readonly address: string;
    readonly gateway: string;
  }[];
}

/** Creates it. An existing one is created again. */
export async function addNodeSpace(node: Instance, { bridge, links }: NodeAddress): Promise<void> {
  const [space, cable] = [spaceOf(node), cableOf(node)];
  await removeNodeSpace(node);
  await runCommand(['ip', 'netns', 'add', space]);
  await runCommand(['ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space]);
  await runCommand(['ip', 'link', 'set', cable, 'master', bridge, 'up']);
  const lines = [
    'link set lo up',
    ...links.map(({ address }) => `address add ${address} dev eth0${familyOf(address) === 'IPv6' ? ' nodad' : ''}`),
    'link set eth0 up',
    ...links.map(({ gateway }) => `route add default via ${gateway}`),
  ];
  await runCommand(['ip', '-n', space, '-batch', '-'], Buffer.from(`${lines.join('\n')}\n`));
  const forwards = links.map(({ address }) =>
    familyOf(address) === 'IPv4' ? 'net/ipv4/ip_forward' : 'net/ipv6/conf/all/forwarding',
  );
  const script = forwards.map((name) => `echo 1 > /proc/sys/${name}`).join(' && ');
  await runCommand(['nsenter', `--net=/run/netns/${space}`, 'sh', '-c', script]);
}

export async function removeNodeSpace(node: Instance): Promise<void> {
  const [space, cable] = [spaceOf(node), cableOf(node)];
  if (existsSync(`/sys/class/net/${cable}`)) await tryCommand(['ip', 'link', 'del', cable]);
  if (isThere(space)) await tryCommand(['ip', 'netns', 'del', space]);
}

export function nodeSpaceLeftovers(node: Instance): string[] {
  return [
    ...(isThere(spaceOf(node)) ? [`network namespace ${spaceOf(node)}`] : []),
    ...(existsSync(`/sys/class/net/${cableOf(node)}`) ? [`network interface ${cableOf(node)}`] : []),
  ];
}
