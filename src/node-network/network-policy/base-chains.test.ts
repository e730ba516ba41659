import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { baseChains, mapBody, mapName, selfBody, selfName } from './base-chains.ts';

const rulesOf = (name: string, podBridge?: string): readonly string[] => baseChains(podBridge).get(name)?.rules ?? [];

describe('the base chains of network policies', () => {
  it('see forwarded packets after the addresses of services are resolved: those that leave a pod first', () => {
    const chains = baseChains(undefined);
    assert.deepEqual([...chains.keys()], ['egress-reply', 'egress', 'ingress-reply', 'ingress']);
    assert.deepEqual(
      ['egress', 'ingress', 'egress-reply'].map((name) => chains.get(name)?.head),
      [
        'type filter hook forward priority -6; policy accept;',
        'type filter hook forward priority -5; policy accept;',
        undefined,
      ],
    );
  });

  it('judge a request by the policies of the pod at its end, and an answer with the ends exchanged', () => {
    assert.deepEqual(rulesOf('ingress').slice(-3), [
      'ct direction reply goto ingress-reply',
      'ip daddr vmap @ingress-pods-v4',
      'ip6 daddr vmap @ingress-pods-v6',
    ]);
    assert.deepEqual(rulesOf('egress').slice(-2), ['ip saddr vmap @egress-pods-v4', 'ip6 saddr vmap @egress-pods-v6']);
    assert.deepEqual(rulesOf('ingress-reply'), [
      'ip saddr vmap @ingress-reply-pods-v4',
      'ip6 saddr vmap @ingress-reply-pods-v6',
    ]);
    assert.deepEqual(rulesOf('egress-reply'), [
      'ip daddr vmap @egress-reply-pods-v4',
      'ip6 daddr vmap @egress-reply-pods-v6',
    ]);
  });

  it('let pass neighbour discovery, errors of connections, and what a pod sends to itself', () => {
    for (const name of ['ingress', 'egress'])
      assert.deepEqual(rulesOf(name).slice(0, 4), [
        'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert } accept',
        'meta l4proto { icmp, ipv6-icmp } ct state related accept',
        'ip saddr . ip daddr @self-v4 accept',
        'ip6 saddr . ip6 daddr @self-v6 accept',
      ]);
  });

  it('drop link-local addresses between pods of one bridge, once, before the policies', () => {
    const drop = 'iifname "br0" oifname "br0" ip6 saddr fe80::/10 drop';
    assert.equal(rulesOf('egress', 'br0').indexOf(drop), 4);
    assert.equal(rulesOf('ingress', 'br0').includes(drop), false);
    assert.equal(
      [...rulesOf('egress'), ...rulesOf('ingress')].some((rule) => rule.includes('fe80')),
      false,
    );
    assert.equal(rulesOf('egress').length, 7);
  });

  it('use maps and sets with names and types of their family', () => {
    assert.deepEqual(
      [mapName('Ingress', 'v4'), mapName('Egress', 'v6', true), mapBody('v4'), mapBody('v6')],
      ['ingress-pods-v4', 'egress-reply-pods-v6', 'type ipv4_addr : verdict;', 'type ipv6_addr : verdict;'],
    );
    assert.deepEqual(
      [selfName('v4'), selfBody('v4'), selfBody('v6')],
      ['self-v4', 'type ipv4_addr . ipv4_addr;', 'type ipv6_addr . ipv6_addr;'],
    );
  });
});
