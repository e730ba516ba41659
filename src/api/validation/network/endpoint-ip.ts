import { addressScope, formatIp, parseSloppyIp } from '../../../base/ip-address.ts';
import type { AddressScope } from '../../../base/ip-address.ts';
import type { FieldErrors } from '../field-error.ts';
import { isIpv6Text } from '../names.ts';

/** The shortest form of an IPv6 address, as RFC 5952 recommends; undefined for an invalid one. */
export function canonicalIpv6(address: string): string | undefined {
  const bytes = isIpv6Text(address) ? parseSloppyIp(address) : undefined;
  return bytes === undefined ? undefined : formatIp(bytes);
}

/**
 * Checks that clients may be sent to the address (upstream: core/validation ValidateEndpointIP). An IPv6 address that
 * contains an IPv4 address must satisfy the rules for both.
 */
export function validateEndpointIp(errors: FieldErrors, field: string, address: string): void {
  const bytes = parseSloppyIp(address);
  if (bytes === undefined) return errors.invalid(field, address, 'must be a valid IP address');
  const problem = problems.get(addressScope(bytes));
  if (problem !== undefined)
    errors.invalid(
      field,
      address,
      problem.replace('ADDRESS', () => address),
    );
}

const problems: ReadonlyMap<AddressScope, string> = new Map<AddressScope, string>([
  ['unspecified', 'may not be unspecified (ADDRESS)'],
  ['loopback', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ['link-local', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['link-local-multicast', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]);

/** Warnings for an accepted address in a form that is not recommended (upstream: GetWarningsForIP). */
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
