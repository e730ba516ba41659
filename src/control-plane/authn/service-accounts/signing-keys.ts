import { lookupTable } from '../../../base/lookup.ts';
import { createHash, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { KubeletError } from '../../../base/errors.ts';

export type TokenAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512';

/** A public key that verifies tokens. */
export interface TokenKey {
  /** The key id, which is a digest of the key, as in upstream. */
  readonly id: string;
  readonly algorithm: TokenAlgorithm;
  readonly key: KeyObject;
}

const algorithms: Readonly<Record<string, TokenAlgorithm>> = lookupTable({
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
});

/** The public key with its id. Throws `Invalid` for key types that cannot sign tokens. */
export function tokenKeyOf(key: KeyObject): TokenKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const algorithm =
    publicKey.asymmetricKeyType === 'rsa' ? 'RS256' : algorithms[publicKey.asymmetricKeyDetails?.namedCurve ?? ''];
  if (algorithm === undefined)
    throw new KubeletError(
      'Invalid',
      'keys for tokens of service accounts must be RSA, or ECDSA on P-256, P-384 or P-521',
    );
  const id = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  return { id, algorithm, key: publicKey };
}

/**
 * Returns the documents with which other programs verify tokens: `/.well-known/openid-configuration` and
 * `/openid/v1/jwks`; undefined unless the issuer is an https URL.
 */
export function openIdDocuments(
  issuer: string,
  keys: readonly TokenKey[],
  jwksUri: string,
): { readonly configuration: string; readonly keys: string } | undefined {
  if (!issuer.startsWith('https://') || /[?#]/.test(issuer)) return undefined;
  const algorithmsUsed = [...new Set(keys.map(({ algorithm }) => algorithm))].sort();
  const configuration = {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithmsUsed,
  };
  const set = keys.map(({ id, algorithm, key }) => ({
    use: 'sig',
    kid: id,
    alg: algorithm,
    ...key.export({ format: 'jwk' }),
  }));
  return { configuration: JSON.stringify(configuration), keys: JSON.stringify({ keys: set }) };
}
