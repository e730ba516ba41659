import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isOlderVersion } from './resource-version.ts';

it('versions are compared as the numbers they are, however long', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), fc.bigInt({ min: 0n, max: 2n ** 70n }), (one, other) =>
      assert.equal(isOlderVersion(String(one), String(other)), one < other),
    ),
  );
});

it('a missing or non-numeric version is never older', () => {
  for (const strange of ['', 'a', '1a', '-1', undefined])
    assert.deepEqual([isOlderVersion(strange, '5'), isOlderVersion('5', strange)], [false, false]);
});
