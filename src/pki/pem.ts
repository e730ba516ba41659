import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { KubeletError } from '../base/errors.ts';

/** The armour: base64 in lines of 64 between a head and a foot. */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/**
 * The bytes of the only block of a text. Throws `Invalid` where there is another one, or one with headers: readers
 * differ in which of them they take. Words around the block are passed over, as OpenSSL writes some.
 */
export function onlyPemBlock(text: string, label: string): Uint8Array {
  const [begin, end] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`];
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start < 0 || stop < start || count(text, '-----BEGIN ') > 1 || count(text, '-----END ') > 1)
    throw new KubeletError('Invalid', `PEM block type must be ${label}, and there must be one block`);
  const base64 = text.slice(start + begin.length, stop).replaceAll(/[ \t\r\n]/g, '');
  const der = Buffer.from(base64, 'base64');
  if (base64 === '' || der.toString('base64') !== base64)
    throw new KubeletError('Invalid', `the ${label} has something in it that is not base64`);
  return der;
}

const count = (text: string, word: string): number => text.split(word).length - 1;

/** All certificates of a bundle, in order. Throws what Node throws for one that is broken. */
export function certificatesOf(text: string): readonly X509Certificate[] {
  return certificateBlocks(text).map((block) => new X509Certificate(block));
}

/** From each head on to the next foot. A head without a foot is looked for once. */
function certificateBlocks(text: string): readonly string[] {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];
  const blocks: string[] = [];
  for (let at = text.indexOf(begin); at >= 0; ) {
    const stop = text.indexOf(end, at + begin.length);
    if (stop < 0) break;
    blocks.push(text.slice(at, stop + end.length));
    at = text.indexOf(begin, stop + end.length);
  }
  return blocks;
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
