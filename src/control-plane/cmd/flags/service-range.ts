import { isIP } from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import { parseAddressRange } from '../../resources/core/service/address-range.ts';

/**
 * The first address after the network address, which the service `kubernetes` uses. Throws `Invalid` for an invalid or
 * too small range.
 */
export function firstAddress(cidr: string): string {
  if (!isRange(cidr))
    throw new KubeletError(
      'Invalid',
      `--service-cluster-ip-range: ${cidr} is not a range of addresses such as 10.96.0.0/12`,
    );
  const range = parseAddressRange(cidr);
  if (range.size === 0)
    throw new KubeletError('Invalid', `--service-cluster-ip-range: ${cidr} has no room for services`);
  return range.at(0);
}

function isRange(cidr: string): boolean {
  const [, network = '', prefix = ''] = /^([\da-fA-F.:]+)\/(\d{1,3})$/.exec(cidr) ?? [];
  const family = isIP(network);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}
