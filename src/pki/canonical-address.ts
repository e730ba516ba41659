import { isIPv6 } from 'node:net';

/**
 * An IP address in the form by which certificates are compared: IPv6 compressed and in lower case. What is no IPv6
 * address stays as it is.
 */
export function canonicalAddress(address: string): string {
  return isIPv6(address) && URL.canParse(`http://[${address}]`)
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : address;
}
