import { formatIp, parseIp } from '../../../base/ip-address.ts';
import { goQuote } from '../../go-quote.ts';
import { checkStrictCidr, checkStrictIp } from '../names.ts';
import type { Complaints } from '../names.ts';

/** Checks for the canonical form of an address, which newer fields require (upstream: validation IsValidIP). */
export function checkCanonicalIp(value: string): Complaints {
  const complaints = checkStrictIp(value);
  if (complaints.length > 0) return complaints;
  const canonical = formatIp(parseIp(value) ?? new Uint8Array());
  return canonical === value ? [] : [`must be in canonical form (${goQuote(canonical)})`];
}

/** Checks for the canonical form of a range, which newer fields require (upstream: validation IsValidCIDR). */
export function checkCanonicalCidr(value: string): Complaints {
  const complaints = checkStrictCidr(value);
  if (complaints.length > 0) return complaints;
  const [address = '', prefix = ''] = value.split('/');
  const canonical = `${formatIp(parseIp(address) ?? new Uint8Array())}/${Number(prefix)}`;
  return canonical === value ? [] : [`must be in canonical form (${goQuote(canonical)})`];
}
