/** Keys, requests and certificates of pods, for tests of code that checks them. */
import { Buffer } from 'node:buffer';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { noNames } from '../certificate-template.ts';
import { onlyPemBlock } from '../pem.ts';
import { writeCertificateRequest } from '../request-writer.ts';
import { writeCertificate } from '../x509-writer.ts';
import type { SigningAuthority } from '../x509-writer.ts';

export const makeKey = (namedCurve = 'prime256v1'): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey;
export const makeRsaKey = (modulusLength: number): KeyObject =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey;

/** The empty request of a pod, as DER in base64. */
export function makeStub(key: KeyObject): string {
  const pem = writeCertificateRequest({ subject: { attributes: [] }, key, altNames: noNames });
  return Buffer.from(onlyPemBlock(pem, 'CERTIFICATE REQUEST')).toString('base64');
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export function makeAuthority(commonName: string, validity: Validity): SigningAuthority {
  const key = makeKey();
  const certificate = writeCertificate(
    {
      subject: { commonName },
      publicKey: createPublicKey(key),
      ...validity,
      isAuthority: true,
      keyUsages: ['certSign'],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    { selfSignedBy: key },
  );
  return { certificate, key };
}

/** The certificate in PEM. */
export const issue = (authority: SigningAuthority, publicKey: KeyObject, validity: Validity): string =>
  writeCertificate(
    {
      subject: { commonName: 'pod' },
      publicKey,
      ...validity,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    authority,
  );
