import assert from 'node:assert/strict';
import { it } from 'node:test';
import { containsPrefix, hasServiceAddress, overlapsPrefix, parseIpPrefix } from './ip-prefix.ts';
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

it('knows which ranges lie in each other, and what is no range', () => {
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
