import { canonicalAddress } from '../../../pki/canonical-address.ts';
import type { CertificateFacts } from '../../../pki/key-pair.ts';

/** The names that a certificate must have. */
export interface CertificateNamesWanted {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface RotationQuestion {
  readonly current: CertificateFacts | undefined;
  /**
   * The required names, or undefined while unknown, for example before the node has an address. Then no request is
   * made.
   */
  readonly wanted: CertificateNamesWanted | undefined;
  /**
   * A random number in [0, 1), drawn once per certificate, so that nodes that joined together rotate at different
   * times.
   */
  readonly chance: number;
  readonly nowMs: number;
}

export type RotationVerdict =
  | { readonly kind: 'rotate'; readonly why: string }
  | { readonly kind: 'wait' /** Undefined: wait until something changes. */; readonly untilMs: number | undefined };

/**
 * Decides when to rotate a certificate: at 70 to 90 % of its life, or immediately if it lacks a name. Additional names
 * are accepted (upstream: certificate_manager.go).
 */
export function decideRotation({ current, wanted, chance, nowMs }: RotationQuestion): RotationVerdict {
  if (wanted === undefined) return { kind: 'wait', untilMs: undefined };
  if (current === undefined) return { kind: 'rotate', why: 'there is no certificate' };
  const missing = missingNames(current, wanted);
  if (missing !== undefined) return { kind: 'rotate', why: missing };
  const dueMs = rotationDueMs(current, chance);
  return nowMs < dueMs
    ? { kind: 'wait', untilMs: dueMs }
    : { kind: 'rotate', why: nowMs > current.notAfterMs ? 'it has expired' : 'most of its validity period has passed' };
}

function rotationDueMs({ notBeforeMs, notAfterMs }: CertificateFacts, chance: number): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * chance);
}

/**
 * Whether the certificate has expired. A clock that is before the certificate's start is wrong, and does not invalidate
 * the certificate: it may be needed to get the correct time.
 */
export const isExpired = ({ notAfterMs }: Pick<CertificateFacts, 'notAfterMs'>, nowMs: number): boolean =>
  nowMs > notAfterMs;

function missingNames(current: CertificateFacts, wanted: CertificateNamesWanted): string | undefined {
  if (current.commonName !== wanted.commonName) return `it is for ${current.commonName}, not ${wanted.commonName}`;
  const organizations = wanted.organizations.filter((each) => !current.organizations.includes(each));
  if (organizations.length > 0) return `it lacks the organization ${organizations.join(', ')}`;
  const names = [
    ...wanted.dnsNames.filter((each) => !current.dnsNames.includes(each)),
    ...wanted.ipAddresses.filter((each) => !current.ipAddresses.includes(canonicalAddress(each))),
  ];
  return names.length > 0 ? `it is not valid for ${names.join(', ')}` : undefined;
}
