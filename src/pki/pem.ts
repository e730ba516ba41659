import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { KubeletError } from '../base/errors.ts';

/** Encodes bytes as PEM: base64 in lines of 64 characters between a header and a footer. */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/**
 * The bytes of the only block of a text. Throws `Invalid` if there is a second block or a block with headers, because
 * parsers differ in which block they read. Text around the block is ignored, because OpenSSL writes some.
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

/** All certificates of a bundle, in order. Throws Node's error for an invalid one. */
export function certificatesOf(text: string): readonly X509Certificate[] {
  return certificateBlocks(text).map((block) => new X509Certificate(block));
}

/** The blocks from each header to the next footer. Text after a header without a footer is searched only once. */
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

/** A private key in the format of OpenSSL and kubeadm: SEC 1 for elliptic curve keys, PKCS 1 for RSA. */
export function privateKeyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === 'ec' ? 'sec1' : key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'pkcs8';
  return key.export({ type, format: 'pem' }).toString();
}

export const publicKeyPem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

/** `undefined` for a text that is not a private key, or an encrypted one. */
export function tryPrivateKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
