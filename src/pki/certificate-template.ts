import type { KeyObject } from 'node:crypto';
import type { SubjectAttribute } from './subject.ts';

export type KeyUsageName =
  | 'digitalSignature'
  | 'contentCommitment'
  | 'keyEncipherment'
  | 'dataEncipherment'
  | 'keyAgreement'
  | 'certSign'
  | 'crlSign'
  | 'encipherOnly'
  | 'decipherOnly';

export interface AltNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** The content of a new certificate. */
export interface CertificateTemplate {
  /** Its usual parts, or all attributes in order. */
  readonly subject:
    | { readonly commonName: string; readonly organizations?: readonly string[] }
    | { readonly attributes: readonly SubjectAttribute[] };
  readonly publicKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isAuthority?: boolean;
  readonly keyUsages: readonly KeyUsageName[];
  /** Object identifiers; see `extendedUsages`. */
  readonly extendedKeyUsages: readonly string[];
  readonly altNames: AltNames;
}

export const extendedUsages = {
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  any: '2.5.29.37.0',
} as const;

export const noNames: AltNames = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] };
