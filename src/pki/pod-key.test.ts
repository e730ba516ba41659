import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { it } from 'node:test';
import { isKind } from '../base/errors.ts';
import { makePodKey } from './pod-key.ts';
import { readRequestKey } from './request-reader.ts';

for (const [keyType, type, detail] of [
  ['RSA3072', 'rsa', 3072],
  ['ECDSAP256', 'ec', 'prime256v1'],
  ['ECDSAP384', 'ec', 'secp384r1'],
  ['ECDSAP521', 'ec', 'secp521r1'],
  ['ED25519', 'ed25519', undefined],
] as const)
  it(`a key of the type ${keyType} has signed its request`, async () => {
    const { key, stub } = await makePodKey(keyType);
    assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
    const made = createPrivateKey(key);
    const { modulusLength, namedCurve } = made.asymmetricKeyDetails ?? {};
    assert.deepEqual([made.asymmetricKeyType, modulusLength ?? namedCurve], [type, detail]);
    assert.ok(readRequestKey(Buffer.from(stub, 'base64')).equals(createPublicKey(made)));
  });

it('there is no key of another type', async () => {
  await assert.rejects(makePodKey('RSA1024'), (error) => isKind(error, 'Invalid'));
});
