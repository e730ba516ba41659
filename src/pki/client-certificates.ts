import { createHash, X509Certificate } from 'node:crypto';
import { errorMessage } from '../base/errors.ts';
import { subjectOf } from './certificate-reader.ts';
import { extendedUsages } from './certificate-template.ts';
import { isIssuedBy } from './judge-certificate.ts';
import { certificatesOf } from './pem.ts';
import type { CertificateSubject } from './subject.ts';

/** The number of certificates whose users are cached: one for each connected client. */
const REMEMBERED = 2000;

export interface ClientCertificateOptions {
  /**
   * The bundle of authorities for clients (--client-ca-file) in PEM. It is called for each check, so that a replaced
   * bundle takes effect at once.
   */
  readonly authorities: () => string;
  readonly nowMs: () => number;
}

/** The user that a client certificate names. */
export interface CertificateUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export type CertificateVerdict =
  | { readonly outcome: 'user'; readonly user: CertificateUser }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'failed'; readonly error: string };

interface Known {
  readonly verdict: CertificateVerdict;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Authenticates client certificates: the common name is the user, and each organization is a group. TLS has proved that
 * the client has the key. Each request checks that one of the current authorities issued the certificate for client
 * authentication, and that it is valid now. Intermediate certificates are not supported. A certificate with an
 * ambiguous subject is an invalid credential.
 */
export function createClientCertificateJudge({
  authorities,
  nowMs,
}: ClientCertificateOptions): (der: Uint8Array) => CertificateVerdict {
  let bundle: string | undefined;
  let trusted: readonly X509Certificate[] = [];
  const known = new Map<string, Known>();
  const lookUp = (der: Uint8Array): Known => {
    const current = authorities();
    if (current !== bundle) {
      trusted = certificatesOf(current);
      bundle = current;
      known.clear();
    }
    const fingerprint = fingerprintOf(der);
    const found = known.get(fingerprint);
    if (found !== undefined) return found;
    const judged = judge(der, fingerprint, trusted);
    if (known.size >= REMEMBERED) known.delete(known.keys().next().value ?? '');
    known.set(fingerprint, judged);
    return judged;
  };
  return (der) => {
    const { verdict, fromMs, toMs } = lookUp(der);
    const now = nowMs();
    return verdict.outcome === 'user' && (now < fromMs || now > toMs) ? expired(now, fromMs, toMs) : verdict;
  };
}

const fingerprints = new WeakMap<Uint8Array, string>();

/** The SHA-256 of a certificate. All requests of a connection present the same bytes, which nothing changes. */
function fingerprintOf(der: Uint8Array): string {
  let fingerprint = fingerprints.get(der);
  if (fingerprint === undefined) {
    fingerprint = createHash('sha256').update(der).digest('hex');
    fingerprints.set(der, fingerprint);
  }
  return fingerprint;
}

/** Formats a time as Go does. */
const formatTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const failed = (error: string): CertificateVerdict => ({ outcome: 'failed', error });

function expired(nowMs: number, fromMs: number, toMs: number): CertificateVerdict {
  const relation = nowMs > toMs ? `is after ${formatTime(toMs)}` : `is before ${formatTime(fromMs)}`;
  return failed(
    `verifying certificate failed: x509: certificate has expired or is not yet valid: current time ${formatTime(nowMs)} ${relation}`,
  );
}

function judge(der: Uint8Array, fingerprint: string, trusted: readonly X509Certificate[]): Known {
  const always = { fromMs: 0, toMs: Infinity };
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(der);
  } catch (error) {
    return { ...always, verdict: failed(`x509: the client certificate cannot be read: ${errorMessage(error)}`) };
  }
  const issuer = trusted.find((authority) => isIssuedBy(certificate, authority));
  if (issuer === undefined)
    return {
      ...always,
      verdict: failed(
        `verifying certificate SN=${BigInt(`0x${certificate.serialNumber}`)} failed: x509: certificate signed by unknown authority`,
      ),
    };
  // Absent: valid for all purposes. Node calls the extended key usages `keyUsage`.
  const usages: readonly string[] | undefined = certificate.keyUsage;
  if (usages !== undefined && !usages.includes(extendedUsages.clientAuth) && !usages.includes(extendedUsages.any)) {
    return {
      ...always,
      verdict: failed('verifying certificate failed: x509: certificate specifies an incompatible key usage'),
    };
  }
  const fromMs = Math.max(certificate.validFromDate.getTime(), issuer.validFromDate.getTime());
  const toMs = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
  return { verdict: userOf(der, fingerprint), fromMs, toMs };
}

function userOf(der: Uint8Array, fingerprint: string): CertificateVerdict {
  let subject: CertificateSubject;
  try {
    subject = subjectOf(der);
  } catch (error) {
    return failed(`x509: the subject of the client certificate cannot be read: ${errorMessage(error)}`);
  }
  const { commonName: name, organizations: groups, uid } = subject;
  if (name === undefined) return { outcome: 'none' };
  return {
    outcome: 'user',
    user: {
      name,
      groups,
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
      ...(uid !== undefined && { uid }),
    },
  };
}
