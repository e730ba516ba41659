import { BlockList, isIP } from 'node:net';
import { KubeletError } from '../../base/errors.ts';

/** The address after that of the network: the service `kubernetes` has it. Throws `Invalid` for what is no range. */
export function firstAddress(cidr: string): string {
  const [network = '', prefix = ''] = cidr.split('/');
  const family = isIP(network);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
  if (family === 0 || !(bits >= 0 && bits <= (family === 4 ? 32 : 128))) throw new KubeletError('Invalid', `--service-cluster-ip-range: ${cidr} is no range of addresses, such as 10.96.0.0/12`);
  const first = family === 4 ? nextOfIpv4(network, bits) : `${network.replace(/::$/, '')}::1`;
  const range = new BlockList();
  range.addSubnet(network, bits, family === 4 ? 'ipv4' : 'ipv6');
  if (!range.check(first, family === 4 ? 'ipv4' : 'ipv6')) throw new KubeletError('Invalid', `--service-cluster-ip-range: ${cidr} has no room for services`);
  return first;
}

function nextOfIpv4(network: string, bits: number): string {
  const whole = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - bits);
  const first = Math.floor(whole / size) * size + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.');
}
