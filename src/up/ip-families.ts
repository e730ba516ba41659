/** Which IP families a cluster has. */
import { readFileSync } from 'node:fs';
import { KubeletError } from '../base/errors.ts';
import { formatIp } from '../base/ip-address.ts';
import { parseIpPrefix } from '../base/ip-prefix.ts';

export const familyChoices = ['ipv4', 'ipv6', 'dual'] as const;
/** `dual`: IPv4 first, as kubeadm and kind have it. */
export type FamilyChoice = (typeof familyChoices)[number];
export type Family = 'IPv4' | 'IPv6';

export const familiesOf = (choice: FamilyChoice): readonly Family[] =>
  choice === 'dual' ? ['IPv4', 'IPv6'] : [choice === 'ipv4' ? 'IPv4' : 'IPv6'];

/** Of an address or a range. */
export const familyOf = (ip: string): Family => (ip.includes(':') ? 'IPv6' : 'IPv4');

/** An address before a port, as URLs and flags want it. */
export const hostPort = (ip: string, port: number): string => `${familyOf(ip) === 'IPv6' ? `[${ip}]` : ip}:${port}`;
export const urlHost = (ip: string): string => (familyOf(ip) === 'IPv6' ? `[${ip}]` : ip);

const readSetting = (name: string): string | undefined => {
  try {
    return readFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** Throws `Invalid` where the kernel has no IPv6, or it is off for new devices: those of pods are new. */
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
 * The address of that number in a range: the first is the API server's service, the tenth, as kubeadm has it, the name
 * service's.
 */
export function addressInRange(cidr: string, index: number): string {
  const { first, bits } = parseIpPrefix(cidr) ?? { first: 0n, bits: 32 };
  const [value, length] = [first + BigInt(index), bits / 8];
  return formatIp(Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 255n)));
}
