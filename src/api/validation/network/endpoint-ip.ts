import type { FieldErrors } from '../field-error.ts';
import { checkStrictIp, isIpv6Text } from '../names.ts';

/** The shortest form of an IPv6 address, as RFC 5952 recommends it; undefined for what is none. */
export function canonicalIpv6(address: string): string | undefined {
  if (!isIpv6Text(address) || !URL.canParse(`http://[${address}]`)) return undefined;
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** An address to which traffic of others may be sent (upstream: core/validation ValidateEndpointIP). */
export function validateEndpointIp(errors: FieldErrors, field: string, address: string): void {
  if (checkStrictIp(address).some((complaint) => complaint.startsWith('must be a valid')))
    return errors.invalid(field, address, 'must be a valid IP address');
  const text = canonicalIpv6(address) ?? address.replaceAll(/(^|\.)0+(?=\d)/g, '$1');
  if (text === '0.0.0.0' || text === '::') errors.invalid(field, address, `may not be unspecified (${address})`);
  if (text.startsWith('127.') || text === '::1')
    errors.invalid(field, address, 'may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (text.startsWith('169.254.') || /^fe[89ab][0-9a-f]:/.test(text))
    errors.invalid(field, address, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  if (text.startsWith('224.0.0.') || /^ff[0-9a-f]2:/.test(text))
    errors.invalid(field, address, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
}

/** What the API says of an accepted address that is not written as recommended (upstream: GetWarningsForIP). */
export function addressWarnings(field: string, address: string): string[] {
  const canonical = canonicalIpv6(address);
  if (canonical === undefined || canonical === address) return [];
  return [
    `${field}: IPv6 address ${JSON.stringify(address)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
  ];
}

/** `10.0.0.1:80`, `[fd00::1]:80`. */
export function joinHostPort(address: string, port: number): string {
  return isIpv6Text(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
