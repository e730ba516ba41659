/** Which IP families a cluster has. */
import { readFileSync } from 'node:fs';
import { KubeletError } from '../base/errors.ts';
import { formatIp } from '../base/ip-address.ts';
import { parseIpPrefix } from '../base/ip-prefix.ts';

export const familyChoices = ['ipv4', 'ipv6', 'dual'] as const;
/** `dual`: IPv4 first, as in kubeadm and kind. */
export type FamilyChoice = (typeof familyChoices)[number];
export type Family = 'IPv4' | 'IPv6';

export const familiesOf = (choice: FamilyChoice): readonly Family[] =>
  choice === 'dual' ? ['IPv4', 'IPv6'] : [choice === 'ipv4' ? 'IPv4' : 'IPv6'];

/** Of an address or a range. */
export const familyOf = (ip: string): Family => (ip.includes(':') ? 'IPv6' : 'IPv4');

/** An address in the form in which a port follows it, for URLs and flags. */
export const hostPort = (ip: string, port: number): string => `${familyOf(ip) === 'IPv6' ? `[${ip}]` : ip}:${port}`;
export const urlHost = (ip: string): string => (familyOf(ip) === 'IPv6' ? `[${ip}]` : ip);

const readSetting = (name: string): string | undefined => {
  try {
    return readFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** Throws `Invalid` when the kernel has no IPv6, or when it is off for new devices, which those of pods are. */
export function checkIpv6(read: (name: string) => string | undefined = readSetting): void {
  const isOff = ['all', 'default'].filter((name) => read(name) !== '0');
  if (isOff.length === 0) return;
  const way =
    read('all') === undefined
      ? 'the kernel was built or started without it (ipv6.disable=1)'
      : `switch it on with: sysctl -w ${isOff.map((name) => `net.ipv6.conf.${name}.disable_ipv6=0`).join(' ')}`;
  throw new KubeletError('Invalid', `this machine has no IPv6: ${way}. Or start the cluster with --ip-family ipv4`);
}

/**
 * The nth address of a range: the first is for the API server's service, the tenth for the name service, as in kubeadm.
 */
export function addressInRange(cidr: string, index: number): string {
  const { first, bits } = parseIpPrefix(cidr) ?? { first: 0n, bits: 32 };
  const [value, length] = [first + BigInt(index), bits / 8];
  return formatIp(Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 255n)));
}
