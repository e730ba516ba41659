import { isIPv6 } from 'node:net';

/**
 * The form of an IP address in which certificates are compared: IPv6 compressed and in lower case. Other texts are
 * returned unchanged.
 */
export function canonicalAddress(address: string): string {
  return isIPv6(address) && URL.canParse(`http://[${address}]`)
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : address;
}
