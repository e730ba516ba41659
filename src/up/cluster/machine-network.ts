/**
 * The network of a machine that is a node among others: a bridge for its pods, and the device that leads to the pods of
 * the other machines. All names bear the instance's, because the machine has other networks.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { canonicalIp } from '../../base/ip-address.ts';
import { runCommand } from '../commands.ts';
import type { Instance } from '../instance.ts';
import type { Family } from '../ip-families.ts';
import { hostPort } from '../ip-families.ts';
import { forwardIpv6 } from '../kernel-settings.ts';
import { nameDevice, overlayChainPrefix, overlayFile, podBridge } from '../network.ts';

/**
 * The number by which the machines of a cluster know its packets: 20 bits of the cluster's id, so that the name of the
 * device, which bears it, is not too long for the kernel.
 */
export const overlayNumber = (cluster: Instance): number => 1 + Number.parseInt(cluster.id.slice(0, 5), 16);

/** The bridge is made before the first pod, for what is set on it. `down` removes what the file names. */
export async function prepareMachineNetwork(
  instance: Instance,
  vni: number,
  families: readonly Family[],
): Promise<void> {
  writeFileSync(overlayFile(instance), JSON.stringify({ device: `flannel.${vni}` }));
  const bridge = podBridge(instance);
  if (!existsSync(`/sys/class/net/${bridge}`)) await runCommand(['ip', 'link', 'add', bridge, 'type', 'bridge']);
  await runCommand(['ip', 'link', 'set', bridge, 'up']);
  if (readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim() !== '1')
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  if (families.includes('IPv6')) forwardIpv6();
}

/** For `networkOf` of local-node.ts: what tells this network from others of the machine. */
export function machineNetworkArguments(instance: Instance, vni: number): string[] {
  const prefix = instance.iptablesChain;
  return [
    ...[`--chain-prefix=${prefix}`, `--overlay-chain-prefix=${overlayChainPrefix(instance)}`, `--overlay-vni=${vni}`],
    `--subnet-file=${join(instance.runDir, 'subnet.env')}`,
  ];
}

/**
 * The address at which the pods of a machine ask for names: its own, so that names are known while the first machine is
 * away. In IPv4 of the link, below the addresses by which clouds tell of machines (169.254.169.254); by the id, because there may
 * be several clusters.
 */
export function nameAddress({ id }: Instance, family: Family): string {
  const [third, fourth] = [0, 2].map((at) => Number.parseInt(id.slice(at, at + 2), 16)) as [number, number];
  return family === 'IPv4'
    ? `169.254.${20 + (third % 100)}.${1 + (fourth % 254)}`
    : (canonicalIp(`fd84:${id.slice(0, 4)}:${id.slice(4)}:2::10`) ?? '');
}

export function nameArguments(instance: Instance, families: readonly Family[]): string[] {
  return [
    ...families.map((family) => `--dns-local-address=${nameAddress(instance, family)}`),
    `--dns-local-device=${nameDevice(instance)}`,
  ];
}

/** With service routing: pods reach the names although the machine's firewall may drop what comes in. */
export const admitNames = (instance: Instance, families: readonly Family[]): string[] =>
  families.flatMap((family) =>
    ['tcp', 'udp'].map((protocol) => `--admit=${hostPort(nameAddress(instance, family), 53)}/${protocol}`),
  );

/** Throws `Invalid` when this machine does not have the address. */
export function checkOwnAddress(address: string, interfaces = networkInterfaces()): void {
  const own = Object.values(interfaces).flatMap((each) => each ?? []);
  const usable = own.filter(({ internal, scopeid }) => !internal && !scopeid).map((each) => each.address);
  if (usable.includes(address)) return;
  throw new KubeletError(
    'Invalid',
    `--listen ${address}: this machine does not have that address. It has ${usable.join(', ') || 'none but loopback'}`,
  );
}
