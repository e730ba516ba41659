/**
 * IPv4 addresses and ranges as numbers. What comes from others goes into rules as text: only what is an address in its
 * usual form does. Pure.
 */

/**
 * One object of a server that checks less than ours must not keep the rules of all others from being written: other
 * values than text are no address.
 */
export function isIpv4(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

export function isIpv4Range(range: string): boolean {
  const [ip = '', length = '', ...more] = range.split('/');
  return isIpv4(ip) && /^\d{1,2}$/.test(length) && Number(length) <= 32 && more.length === 0;
}

const toNumber = (ip: string): number => ip.split('.').reduce((total, part) => total * 256 + Number(part), 0);

/** `range` in CIDR form. */
export function isInRange(ip: string, range: string): boolean {
  const [base = '', length = ''] = range.split('/');
  const size = 2 ** (32 - Number(length));
  return Math.floor(toNumber(ip) / size) === Math.floor(toNumber(base) / size);
}

/**
 * This network, loopback, link-local, multicast and reserved: no pod and no service of another machine has such an
 * address.
 */
const special = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'];

export const isSpecial = (ip: string): boolean => special.some((range) => isInRange(ip, range));
