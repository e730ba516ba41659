import { Buffer } from 'node:buffer';
import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { derError } from './der-reader.ts';
import type { DerElement } from './der-reader.ts';

const rsaBits = { least: 2048, most: 8192 };
const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

/**
 * The public key of a request: RSA, ECDSA on a named curve, or Ed25519, in its only valid encoding. Throws `Invalid`
 * for any other key.
 */
export function readRequestedKey({ bytes }: DerElement): KeyObject {
  let key: KeyObject;
  let canonical: Uint8Array;
  try {
    key = createPublicKey({ key: Buffer.from(bytes), format: 'der', type: 'spki' });
    // By way of its numbers, as an encoding that is merely understood is kept as it is.
    canonical = createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' }).export({
      format: 'der',
      type: 'spki',
    });
  } catch (error) {
    throw derError(`the public key cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  const problem = keyProblem(key);
  if (problem !== undefined) throw derError(problem);
  if (Buffer.compare(bytes, canonical) !== 0) throw derError('the public key is not in the expected encoding');
  return key;
}

function keyProblem({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string | undefined {
  switch (type) {
    case 'rsa': {
      const { modulusLength = 0, publicExponent = 0n } = details;
      if (modulusLength < rsaBits.least || modulusLength > rsaBits.most)
        return `an RSA key has ${rsaBits.least} to ${rsaBits.most} bits, this one has ${modulusLength}`;
      return publicExponent < 3n || publicExponent >= 2n ** 32n || publicExponent % 2n === 0n
        ? 'the exponent of the RSA key is not usable'
        : undefined;
    }
    case 'ec':
      return curves.includes(details.namedCurve)
        ? undefined
        : `keys on the curve ${details.namedCurve ?? 'without a name'} are not supported`;
    case 'ed25519':
      return undefined;
    default:
      return `keys of type ${type ?? 'unknown'} are not supported`;
  }
}
