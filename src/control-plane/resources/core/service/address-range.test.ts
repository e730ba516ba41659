import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { candidates, parseAddressRange, reservedAddresses } from './address-range.ts';

test('a range allocates the addresses between its network and its broadcast address', () => {
  const range = parseAddressRange('10.96.0.0/30');
  assert.deepEqual([range.family, range.size, range.at(0), range.at(1)], ['IPv4', 2, '10.96.0.1', '10.96.0.2']);
  assert.deepEqual(
    ['10.96.0.0', '10.96.0.1', '10.96.0.2', '10.96.0.3', '10.96.0.4', 'fd00::1'].map((ip) => range.contains(ip)),
    [false, true, true, false, false, false],
  );
  assert.equal(parseAddressRange('10.96.0.0/12').size, 2 ** 20 - 2);
  assert.equal(parseAddressRange('10.96.7.9/16').at(255), '10.96.1.0');
});

test('addresses of version 6 are written short', () => {
  const range = parseAddressRange('fd00:10:96::/112');
  assert.deepEqual(
    [range.family, range.size, range.at(0), range.at(65_534)],
    ['IPv6', 65_535, 'fd00:10:96::1', 'fd00:10:96::ffff'],
  );
  assert.equal(parseAddressRange('fd00:0:0:1::/64').at(0), 'fd00:0:0:1::1');
  assert.equal(range.contains('fd00:10:96:0:0:0:0:12'), true);
  assert.equal(range.contains('fd00:10:97::1'), false);
});

test('every address that is given out lies in its range, and no two are the same', () => {
  fc.assert(
    fc.property(
      fc.ipV4(),
      fc.integer({ min: 20, max: 30 }),
      fc.array(fc.nat(4000), { maxLength: 20 }),
      (ip, bits, numbers) => {
        const range = parseAddressRange(`${ip}/${bits}`);
        const indices = [...new Set(numbers.map((number) => number % range.size))];
        const addresses = indices.map((index) => range.at(index));
        assert.ok(addresses.every((address) => range.contains(address)));
        assert.equal(new Set(addresses).size, indices.length);
      },
    ),
  );
});

test('each number is tried once, those at the beginning last', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (size, random) => {
      const reserved = reservedAddresses(size);
      const order = [...candidates(size, reserved, () => random)];
      assert.deepEqual(
        order.toSorted((one, other) => one - other),
        Array.from({ length: size }, (_, index) => index),
      );
      assert.ok(order.slice(0, size - reserved).every((index) => index >= reserved));
    }),
  );
  assert.deepEqual([16, 17, 254, 65_534].map(reservedAddresses), [0, 16, 16, 256]);
});
