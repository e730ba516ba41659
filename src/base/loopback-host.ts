import { addressScope, parseIp } from './ip-address.ts';

/**
 * Whether a host, in lower case and without brackets, is the loopback interface. Names other than `localhost` are not
 * looked up.
 */
export function isLoopbackHost(host: string): boolean {
  const address = parseIp(host);
  return address === undefined ? host === 'localhost' : addressScope(address) === 'loopback';
}
