/** Creates keys of pods. It is imported only when one is needed, like `x509-writer.ts`. */
import { Buffer } from 'node:buffer';
import { generateKeyPair } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { KubeletError } from '../base/errors.ts';
import { noNames } from './certificate-template.ts';
import { onlyPemBlock } from './pem.ts';
import { writeCertificateRequest } from './request-writer.ts';

type Done = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => void;

/** The generators, by upstream's `keyType`. */
const generators: ReadonlyMap<string, (done: Done) => void> = new Map<string, (done: Done) => void>([
  ['RSA3072', (done) => generateKeyPair('rsa', { modulusLength: 3072 }, done)],
  ['RSA4096', (done) => generateKeyPair('rsa', { modulusLength: 4096 }, done)],
  ['ECDSAP256', (done) => generateKeyPair('ec', { namedCurve: 'prime256v1' }, done)],
  ['ECDSAP384', (done) => generateKeyPair('ec', { namedCurve: 'secp384r1' }, done)],
  ['ECDSAP521', (done) => generateKeyPair('ec', { namedCurve: 'secp521r1' }, done)],
  ['ED25519', (done) => generateKeyPair('ed25519', {}, done)],
]);

/**
 * A new key as PKCS #8 in PEM, and a certificate request without a subject as DER in base64 (upstream:
 * podcertificatemanager.go generateKeyAndProof). Throws `Invalid` for an unknown type of key.
 */
export async function makePodKey(keyType: string): Promise<{ readonly key: string; readonly stub: string }> {
  const generate = generators.get(keyType);
  if (generate === undefined) throw new KubeletError('Invalid', `unknown key type ${JSON.stringify(keyType)}`);
  const key = await new Promise<KeyObject>((resolve, reject) => {
    generate((error, _, privateKey) => {
      if (error === null) resolve(privateKey);
      else reject(error);
    });
  });
  const request = writeCertificateRequest({ subject: { attributes: [] }, key, altNames: noNames });
  return {
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    stub: Buffer.from(onlyPemBlock(request, 'CERTIFICATE REQUEST')).toString('base64'),
  };
}
