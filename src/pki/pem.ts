import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The armour: base64 in lines of 64 between a head and a foot. */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** The bytes of the first block, and what it says it is. */
export function fromPem(text: string): { readonly label: string; readonly der: Uint8Array } | undefined {
  const match = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\s]*?)-----END \1-----/.exec(text);
  if (match === null) return undefined;
  return { label: match[1] ?? '', der: Buffer.from(match[2] ?? '', 'base64') };
}

/** All certificates of a bundle, in order. Throws what Node throws for one that is broken. */
export function certificatesOf(text: string): readonly X509Certificate[] {
  return [...text.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g)].map(
    ([block]) => new X509Certificate(block),
  );
}

/** A private key as OpenSSL and kubeadm write it: SEC 1 for elliptic keys, PKCS 1 for RSA. */
export function privateKeyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === 'ec' ? 'sec1' : key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'pkcs8';
  return key.export({ type, format: 'pem' }).toString();
}

export const publicKeyPem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

/** `undefined` for what is no private key, or one behind a passphrase. */
export function tryPrivateKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
