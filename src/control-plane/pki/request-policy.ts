import type { AltNames, KeyUsageName } from '../../pki/certificate-template.ts';
import { extendedUsages, noNames } from '../../pki/certificate-template.ts';

/** The `kubernetes.io` signers that the control plane implements. */
export const signerNames = {
  apiServerClient: 'kubernetes.io/kube-apiserver-client',
  apiServerClientKubelet: 'kubernetes.io/kube-apiserver-client-kubelet',
  kubeletServing: 'kubernetes.io/kubelet-serving',
  legacyUnknown: 'kubernetes.io/legacy-unknown',
} as const;
export type SignerName = (typeof signerNames)[keyof typeof signerNames];

export const isSignerName = (name: string): name is SignerName =>
  (Object.values(signerNames) as readonly string[]).includes(name);

export interface RequestFacts extends AltNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/**
 * Returns why the signer refuses, in upstream's words; undefined if it does not (upstream:
 * pkg/apis/certificates/helpers.go, signer.go).
 */
export function refuseRequest(
  signer: SignerName,
  request: RequestFacts,
  usages: readonly string[],
): string | undefined {
  switch (signer) {
    case signerNames.apiServerClient:
      return refuseMasters(request) ?? refuseClientUsages(usages);
    case signerNames.apiServerClientKubelet:
      return refuseKubeletClient(request, usages);
    case signerNames.kubeletServing:
      return refuseKubeletServing(request, usages);
    case signerNames.legacyUnknown:
      return refuseMasters(request);
  }
}

/** The requested names that the signer puts into the certificate. */
export function issuedNames(signer: SignerName, { dnsNames, ipAddresses, emailAddresses, uris }: AltNames): AltNames {
  switch (signer) {
    case signerNames.apiServerClient:
    case signerNames.apiServerClientKubelet:
      return noNames;
    case signerNames.kubeletServing:
      return { ...noNames, dnsNames, ipAddresses };
    case signerNames.legacyUnknown:
      return { dnsNames, ipAddresses, emailAddresses, uris };
  }
}

/**
 * Refuses a certificate for `system:masters`. Admission refuses it too (CertificateSubjectRestriction), but may be off.
 */
function refuseMasters({ organizations }: RequestFacts): string | undefined {
  return organizations.includes('system:masters') ? 'subject organization system:masters is not allowed' : undefined;
}

function refuseClientUsages(usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

function refuseKubeletClient(
  { commonName, organizations, dnsNames, emailAddresses, ipAddresses, uris }: RequestFacts,
  usages: readonly string[],
): string | undefined {
  if (!isNodesOnly(organizations)) return NOT_NODES;
  if (dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  if (uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!isNodeName(commonName)) return NOT_A_NODE;
  return refuseUsages(usages, 'client auth');
}

function refuseKubeletServing(
  { commonName, organizations, dnsNames, emailAddresses, ipAddresses, uris }: RequestFacts,
  usages: readonly string[],
): string | undefined {
  if (!isNodesOnly(organizations)) return NOT_NODES;
  if (dnsNames.length === 0 && ipAddresses.length === 0) return 'DNS or IP subjectAltName is required';
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (uris.length > 0) return 'URI subjectAltNames are not allowed';
  return refuseUsages(usages, 'server auth') ?? (isNodeName(commonName) ? undefined : NOT_A_NODE);
}

const NOT_NODES = 'subject organization is not system:nodes';
const NOT_A_NODE = 'subject common name does not begin with system:node:';
/** Whether the name can be that of a Node object. Upstream checks only the prefix. */
function isNodeName(commonName: string): boolean {
  const prefix = 'system:node:';
  const name = commonName.slice(prefix.length);
  return (
    commonName.startsWith(prefix) &&
    name.length <= 253 &&
    name.split('.').every((label) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label))
  );
}

const isNodesOnly = (organizations: readonly string[]): boolean =>
  organizations.length === 1 && organizations[0] === 'system:nodes';

/** `key encipherment` is for RSA keys and may be left out. */
function refuseUsages(usages: readonly string[], purpose: 'client auth' | 'server auth'): string | undefined {
  const asked = new Set(usages);
  const wanted =
    purpose === 'client auth'
      ? ['client auth', 'digital signature', 'key encipherment']
      : ['digital signature', 'key encipherment', 'server auth'];
  const all = wanted.every((usage) => asked.delete(usage) || usage === 'key encipherment') && asked.size === 0;
  return all ? undefined : `usages did not match [${wanted.join(' ')}]`;
}

const SECOND_MS = 1000;
const BACKDATE_MS = 5 * 60 * SECOND_MS;
const SHORTEST_MS = 2 * BACKDATE_MS;
const SHORT_MS = 8 * 60 * 60 * SECOND_MS;

export interface ValidityQuestion {
  /** The requested validity. */
  readonly expirationSeconds: number | undefined;
  /** The signer's longest validity (--cluster-signing-duration). */
  readonly longestMs: number;
  readonly authorityNotAfterMs: number;
  readonly nowMs: number;
}

/**
 * Computes the validity. It never ends after the authority's, and begins five minutes ago for slow clocks. Only
 * short-lived certificates are extended by these five minutes (upstream: authority/policies.go).
 */
export function requestValidity(
  question: ValidityQuestion,
): { readonly notBeforeMs: number; readonly notAfterMs: number } | { readonly expired: string } {
  const { expirationSeconds, longestMs, authorityNotAfterMs, nowMs } = question;
  const lastMs =
    expirationSeconds === undefined
      ? longestMs
      : Math.min(longestMs, Math.max(SHORTEST_MS, expirationSeconds * SECOND_MS));
  if (nowMs >= authorityNotAfterMs)
    return {
      expired: `refusing to sign a certificate that expired in the past: NotAfter=${new Date(authorityNotAfterMs).toISOString()}`,
    };
  const notAfterMs = nowMs + (lastMs < SHORT_MS ? lastMs : lastMs - BACKDATE_MS);
  return { notBeforeMs: nowMs - BACKDATE_MS, notAfterMs: Math.min(notAfterMs, authorityNotAfterMs) };
}

const keyUsages: ReadonlyMap<string, KeyUsageName> = new Map(
  Object.entries({
    signing: 'digitalSignature',
    'digital signature': 'digitalSignature',
    'content commitment': 'contentCommitment',
    'key encipherment': 'keyEncipherment',
    'key agreement': 'keyAgreement',
    'data encipherment': 'dataEncipherment',
    'cert sign': 'certSign',
    'crl sign': 'crlSign',
    'encipher only': 'encipherOnly',
    'decipher only': 'decipherOnly',
  } as const),
);

const extended: ReadonlyMap<string, string> = new Map(
  Object.entries({
    any: extendedUsages.any,
    'server auth': extendedUsages.serverAuth,
    'client auth': extendedUsages.clientAuth,
    'code signing': '1.3.6.1.5.5.7.3.3',
    'email protection': '1.3.6.1.5.5.7.3.4',
    's/mime': '1.3.6.1.5.5.7.3.4',
    'ipsec end system': '1.3.6.1.5.5.7.3.5',
    'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
    'ipsec user': '1.3.6.1.5.5.7.3.7',
    timestamping: '1.3.6.1.5.5.7.3.8',
    'ocsp signing': '1.3.6.1.5.5.7.3.9',
    'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
    'netscape sgc': '2.16.840.1.113730.4.1',
  }),
);

/** Converts the usages of a request to those of a certificate; `unknown` is a usage without a meaning. */
export function usagesOf(words: readonly string[]): {
  readonly keyUsages: readonly KeyUsageName[];
  readonly extendedKeyUsages: readonly string[];
  readonly unknown: string | undefined;
} {
  return {
    keyUsages: [...new Set(words.flatMap((word) => keyUsages.get(word) ?? []))],
    extendedKeyUsages: [...new Set(words.flatMap((word) => extended.get(word) ?? []))],
    unknown: words.find((word) => !keyUsages.has(word) && !extended.has(word)),
  };
}
