import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { containsPrefix, hasServiceAddress, overlapsPrefix, parseIpPrefix, PrefixOwners } from './ip-prefix.ts';
import type { IpPrefix } from './ip-prefix.ts';

const prefix = (cidr: string): IpPrefix => {
  const parsed = parseIpPrefix(cidr);
  assert.ok(parsed !== undefined, cidr);
  return parsed;
};

it('knows the addresses that services can get from a range', () => {
  const cases: readonly [string, string, boolean][] = [
    ['10.0.0.0/30', '10.0.0.1', true],
    ['10.0.0.0/30', '10.0.0.0', false],
    ['10.0.0.0/30', '10.0.0.3', false],
    ['10.0.0.0/30', '10.0.0.4', false],
    ['fd00::/126', 'fd00::3', true],
    ['fd00::/126', 'fd00::', false],
    ['fd00::/126', '10.0.0.1', false],
    ['10.0.0.0/30', 'x', false],
  ];
  for (const [cidr, ip, expected] of cases)
    assert.equal(hasServiceAddress(prefix(cidr), ip), expected, `${cidr} ${ip}`);
});

it('tells which ranges contain each other, and rejects invalid ranges', () => {
  const contains = (outer: string, inner: string): boolean => containsPrefix(prefix(outer), prefix(inner));
  assert.deepEqual(
    [contains('10.0.0.0/8', '10.1.0.0/16'), contains('10.1.0.0/16', '10.0.0.0/8'), contains('::/0', '10.0.0.0/8')],
    [true, false, false],
  );
  assert.deepEqual(
    [
      overlapsPrefix(prefix('10.1.0.0/16'), prefix('10.0.0.0/8')),
      overlapsPrefix(prefix('10.1.0.0/16'), prefix('10.2.0.0/16')),
    ],
    [true, false],
  );
  for (const text of ['', '10.0.0.0', '10.0.0.0/33', '10.0.0.0/x', '/8', 'x/8', '10.0.0.0/-1'])
    assert.equal(parseIpPrefix(text), undefined, text);
});

it('finds the owner of an overlapping range, as a comparison with each range does', () => {
  const v4 = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 255 }), fc.integer({ min: 6, max: 32 }))
    .map(([a, b, length]) => `10.${a}.${b}.0/${length}`);
  const v6 = fc
    .tuple(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 16, 48, 56, 60, 64, 128))
    .map(([a, length]) => `fd00:0:0:${a.toString(16)}::/${length}`);
  fc.assert(
    fc.property(fc.array(fc.oneof(v4, v6), { maxLength: 12 }), fc.oneof(v4, v6), (ranges, asked) => {
      const owners = new PrefixOwners();
      for (const range of ranges) owners.add(prefix(range), range);
      const owner = owners.overlapping(prefix(asked));
      const overlapping = ranges.filter((range) => overlapsPrefix(prefix(range), prefix(asked)));
      assert.equal(owner !== undefined, overlapping.length > 0, `${asked} among ${ranges.join(' ')}`);
      if (owner !== undefined) assert.ok(overlapping.includes(owner), `${asked} is said to overlap ${owner}`);
    }),
    { numRuns: 300 },
  );
});
