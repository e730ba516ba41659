import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCpuSet } from './cpu-set.ts';
import { isIpAddress } from './ip-address.ts';

test('an address is what Node takes for one, zones left out', () => {
  const piece = fc.constantFrom('', '0', '1', '255', '256', 'ffff', 'g', '::', ':', '.', '01', 'abcde', '1.2.3.4');
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 10 }).map((parts) => parts.join(':')),
      (text) => isIpAddress(text) === (isIP(text) !== 0),
    ),
    { numRuns: 500 },
  );
  fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), isIpAddress), { numRuns: 300 });
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', '::1::', '1.2.3.4%eth0', '01.2.3.4', '1.2.3.4::'])
    assert.equal(isIpAddress(text), false, text);
});

test('a CPU list is read as a sorted set', () => {
  assert.deepEqual(parseCpuSet('3,0-1,1'), [0, 1, 3]);
  assert.deepEqual(parseCpuSet(''), []);
  for (const text of ['a', '1-', '3-1', '1,,2', '-1', '0-999999999']) assert.equal(parseCpuSet(text), undefined, text);
});
