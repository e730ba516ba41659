import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { containsPrefix, overlapsPrefix, parseIpPrefix } from '../base/ip-prefix.ts';
import { addressInRange, checkIpv6, familiesOf, hostPort } from './ip-families.ts';
import { chooseRanges6, isSubnetFree6, rangesOfSubnet } from './subnet6.ts';

const prefixOf = (cidr: string) => parseIpPrefix(cidr) ?? assert.fail(cidr);
const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 8, maxLength: 8 });

describe('the IPv6 ranges of a cluster', () => {
  it('are unique local addresses, do not overlap, and are the same at each start', () =>
    fc.assert(
      fc.property(hex, (id) => {
        const ranges = chooseRanges6(id, [], []);
        const all = [ranges.subnet.cidr, ranges.serviceRange, ranges.podRange, `${ranges.localNames}/128`].map(
          prefixOf,
        );
        assert.ok(all.every((range) => containsPrefix(prefixOf('fd84::/16'), range)));
        for (const [at, range] of all.entries())
          for (const other of all.slice(at + 1)) assert.ok(!overlapsPrefix(range, other), id);
        assert.ok(containsPrefix(prefixOf(ranges.subnet.cidr), prefixOf(`${ranges.subnet.gateway}/128`)));
        assert.deepEqual(rangesOfSubnet(ranges.subnet), ranges);
      }),
    ));

  it('avoid networks that the machine reaches by another device; default routes do not matter', () => {
    const first = chooseRanges6('0123abcd', [], []).subnet;
    assert.equal(first.cidr, 'fd84:123:abcd::/64');
    const taken = { dst: 'fd84:123:abcd:7::/64', dev: 'eth0' };
    assert.equal(chooseRanges6('0123abcd', [taken], []).subnet.cidr, 'fd84:123:abce::/64');
    for (const dst of ['default', '::/0', 'fd00::/8', 'fe80::/64', 'multicast'])
      assert.ok(isSubnetFree6(first, [{ dst, dev: 'eth0' }], []), dst);
    assert.ok(isSubnetFree6(first, [{ ...taken, dev: 'kts1' }], ['kts1']));
    const all = Array.from({ length: 256 }, (_, at) => ({ dst: `fd84:123:${(0xabcd + at).toString(16)}::/48` }));
    assert.throws(() => chooseRanges6('0123abcd', all, []), /in use/);
  });
});

describe('the families of a cluster', () => {
  it('are one or both, IPv4 first', () =>
    assert.deepEqual(
      (['ipv4', 'ipv6', 'dual'] as const).map((choice) => familiesOf(choice).join()),
      ['IPv4', 'IPv6', 'IPv4,IPv6'],
    ));

  it('have addresses by number, and IPv6 addresses have brackets before a port', () => {
    assert.equal(addressInRange('10.98.0.0/16', 10), '10.98.0.10');
    assert.equal(addressInRange('fd84:0:0:1::/112', 10), 'fd84:0:0:1::a');
    assert.deepEqual([hostPort('10.0.0.1', 80), hostPort('fd84::1', 80)], ['10.0.0.1:80', '[fd84::1]:80']);
  });

  it('require a kernel with IPv6 enabled, also for new devices', () => {
    const kernel = (values: Readonly<Record<string, string>>) => (name: string) => values[name];
    assert.doesNotThrow(() => checkIpv6(kernel({ all: '0', default: '0' })));
    assert.throws(() => checkIpv6(kernel({})), /ipv6\.disable=1.*--ip-family ipv4/);
    assert.throws(
      () => checkIpv6(kernel({ all: '0', default: '1' })),
      /sysctl -w net\.ipv6\.conf\.default\.disable_ipv6=0/,
    );
  });
});
