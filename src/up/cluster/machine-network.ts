/**
 * The network of a machine that is one node of several: a bridge for its pods, and the device to the pods of other
 * machines. All names contain the instance's id, because the machine has other networks.
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
 * The VXLAN number of the cluster: 20 bits of its id. The device name contains it, and the kernel limits the length of
 * such names.
 */
export const overlayNumber = (cluster: Instance): number => 1 + Number.parseInt(cluster.id.slice(0, 5), 16);

/**
 * The bridge is created before the first pod, because settings are applied to it. `down` removes what the file names.
 */
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

/** For `networkOf` of local-node.ts: what distinguishes this network from others on the machine. */
export function machineNetworkArguments(instance: Instance, vni: number): string[] {
  const prefix = instance.iptablesChain;
  return [
    ...[`--chain-prefix=${prefix}`, `--overlay-chain-prefix=${overlayChainPrefix(instance)}`, `--overlay-vni=${vni}`],
    `--subnet-file=${join(instance.runDir, 'subnet.env')}`,
  ];
}

/**
 * The DNS address for pods of a machine: each machine has its own, so that names resolve while the first machine is
 * away. In IPv4 it is a link-local address below 169.254.169.254, the address of cloud metadata services. It depends on
 * the cluster's id, because there may be several clusters.
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

/** With service routing, pods reach the name service although the machine's firewall may drop incoming packets. */
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
