import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import test from 'node:test';
import fc from 'fast-check';
import { canonicalIp } from './ip-address.ts';

test('each address has one form, however it is written', () => {
  const cases: readonly [string, string | undefined][] = [
    ['10.0.0.1', '10.0.0.1'],
    ['010.000.000.001', '10.0.0.1'],
    ['fd01:0:0:0:0:0:0:1234', 'fd01::1234'],
    ['FD01::0001', 'fd01::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['::', '::'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['0:0:0:0:0:ffff:a00:1', '10.0.0.1'],
    ['', undefined],
    ['10.0.0', undefined],
    ['10.0.0.256', undefined],
    ['10.0.0.0x1', undefined],
    ['10.0.0.1 ', undefined],
    ['fe80::1%eth0', undefined],
    ['fd01:::1', undefined],
    ['localhost', undefined],
    ['[::1]', undefined],
  ];
  for (const [text, expected] of cases) assert.equal(canonicalIp(text), expected, text);
});

test('the form of any address is an address, and its own form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
      const form = canonicalIp(text);
      if (form === undefined) assert.equal(isIP(text), 0);
      else assert.deepEqual([isIP(form) > 0, canonicalIp(form)], [true, form]);
    }),
    { numRuns: 500 },
  );
});
