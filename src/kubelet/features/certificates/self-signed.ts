import { X509Certificate } from 'node:crypto';
import { errorMessage } from '../../../base/errors.ts';
import { canonicalAddress } from '../../../pki/canonical-address.ts';
import { readKeyPair } from '../../../pki/key-pair.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import { isExpired } from './decide-rotation.ts';

/** The share of the life that is left when the certificate is renewed. Upstream never renews its own. */
const RENEW_AT_SHARE = 0.1;

export type SelfSignedVerdict =
  | { readonly kind: 'keep' }
  | { readonly kind: 'make'; readonly why: string }
  /** The certificate has another issuer, who must renew it. */
  | { readonly kind: 'warn'; readonly why: string };

/**
 * Decides about `kubelet.crt` if no other certificate is configured. A certificate that a kubelet made is replaced when
 * it expires soon or names another host; upstream keeps serving it. A certificate of another issuer is never replaced.
 */
export function decideSelfSigned({ certificate, key }: FoundFiles, hostname: string, nowMs: number): SelfSignedVerdict {
  if (certificate === undefined && key === undefined) return { kind: 'make', why: 'there is none' };
  const why = faultOf(tryPair(certificate, key), hostname, nowMs);
  if (why === undefined) return { kind: 'keep' };
  return certificate === undefined || isOwnWork(certificate) ? { kind: 'make', why } : { kind: 'warn', why };
}

/** The content of the files; undefined for a missing file. */
export interface FoundFiles {
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

function tryPair(certificate: string | undefined, key: string | undefined): KeyPair | string {
  if (certificate === undefined) return 'the certificate is missing';
  if (key === undefined) return 'the key is missing';
  try {
    return readKeyPair(certificate, key);
  } catch (error) {
    return `it cannot be read: ${errorMessage(error)}`;
  }
}

function faultOf(pair: KeyPair | string, hostname: string, nowMs: number): string | undefined {
  if (typeof pair === 'string') return pair;
  const { facts } = pair;
  if (isExpired(facts, nowMs)) return 'it has expired';
  if (facts.notAfterMs - nowMs < (facts.notAfterMs - facts.notBeforeMs) * RENEW_AT_SHARE) return 'it expires soon';
  return facts.dnsNames.includes(hostname) || facts.ipAddresses.includes(canonicalAddress(hostname))
    ? undefined
    : `it is not valid for ${hostname}`;
}

/**
 * Whether a kubelet made the certificate. Upstream's is issued by a temporary authority `HOST-ca@SECONDS`; ours is
 * self-signed. A certificate that cannot be parsed counts as foreign.
 */
function isOwnWork(certificate: string): boolean {
  try {
    const { subject, issuer } = new X509Certificate(certificate);
    return /^CN=.*@\d+$/.test(subject) && (issuer === subject || /^CN=.*-ca@\d+$/.test(issuer));
  } catch {
    return true;
  }
}
