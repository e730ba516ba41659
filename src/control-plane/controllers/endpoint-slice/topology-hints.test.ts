import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EndpointLocation } from './topology-hints.ts';
import { planTopologyHints } from './topology-hints.ts';

const halves = new Map([
  ['a', 0.5],
  ['b', 0.5],
]);
/** Parses endpoints: `aab` are new endpoints in these zones; `a>b` is one in zone `a` with a hint for `b`. */
const at = (text: string): EndpointLocation[] =>
  [...text.matchAll(/(\w)(?:>(\w))?/g)].map(([, zone = '', hinted]) => ({ zone, hinted }));
const hinted = (text: string, shares = halves): string => {
  const { zones, refused } = planTopologyHints(at(text), shares);
  return refused ?? zones.join('');
};

describe('hints of topology mode Auto', () => {
  it('name the zone of each endpoint if all zones have their shares', () => {
    assert.equal(hinted('abab'), 'abab');
    assert.equal(hinted('aaaabbb'), 'aaaabbb', 'nothing moves for less than one endpoint');
  });

  it('assign endpoints to a zone that has too few', () => {
    assert.equal(hinted('aaaabb'), 'baaabb');
    assert.equal(hinted('aaaa'), 'bbaa');
    assert.equal(
      hinted(
        'accc',
        new Map([
          ['a', 0.25],
          ['b', 0.75],
        ]),
      ),
      'abbb',
      'from a zone without nodes too',
    );
  });

  it('stay as published until a zone has too few', () => {
    assert.equal(hinted('a>aa>aa>aa>bb>bb>b'), 'aaabbb');
    assert.equal(hinted('a>aa>aa>aa>aa>aa>ab>bb>bb>bb>bb>b'), 'aaaaaabbbbb');
    const shifted = new Map([
      ['a', 0.55],
      ['b', 0.45],
    ]);
    assert.equal(hinted('a>aa>aa>aa>aa>bb>bb>bb>bb>b', shifted), 'aaaaabbbb');
  });

  it('return first to endpoints in their own zone', () => {
    assert.equal(hinted('a>ba>bb>bb>bb>bab'), 'aabbbab');
  });

  it('are rejected in upstream’s words', () => {
    const refusal = (text: string, shares?: ReadonlyMap<string, number>): string | undefined =>
      planTopologyHints(at(text), shares).refused;
    assert.match(refusal('ab') ?? '', /^Insufficient Node information/);
    assert.equal(refusal('a', halves), 'Insufficient number of endpoints (1 endpoints, 2 zones)');
    assert.equal(
      refusal(
        'aab',
        new Map([
          ['a', 0.43],
          ['b', 0.57],
        ]),
      ),
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 2 zones)',
    );
    assert.equal(
      planTopologyHints([{ zone: '', hinted: undefined }, ...at('abb')], halves).refused,
      'One or more endpoints do not have a zone specified',
    );
  });

  it('give every zone its minimum, stay the same the second time, and change little for one endpoint', () => {
    const zone = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const location = fc.record({ zone, hinted: fc.option(zone, { nil: undefined }) });
    const cpus = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(location, { maxLength: 60 }), cpus, (endpoints, parts) => {
        const total = parts.reduce((sum, each) => sum + each, 0);
        const shares = new Map(parts.map((part, index) => ['abcd'.charAt(index), part / total]));
        const minimum = (share: number, count: number): number => Math.ceil((share * count) / 1.2);
        const sum = [...shares.values()].reduce((all, share) => all + minimum(share, endpoints.length), 0);
        const { zones, refused } = planTopologyHints(endpoints, shares);
        assert.equal(refused !== undefined, shares.size > endpoints.length || sum > endpoints.length);
        if (zones === undefined) return;
        for (const [name, share] of shares)
          assert.ok(zones.filter((each) => each === name).length >= minimum(share, endpoints.length), name);
        assert.ok(zones.every((name) => shares.has(name)));
        const published = endpoints.map((each, index) => ({ ...each, hinted: zones[index] }));
        assert.deepEqual(planTopologyHints(published, shares).zones, zones);
        // One endpoint is removed. At most a few of the others move.
        const fewer = planTopologyHints(published.slice(1), shares).zones;
        const moved = fewer?.filter((name, index) => name !== zones[index + 1]).length ?? 0;
        assert.ok(moved <= shares.size, `${moved} moved`);
      }),
      { numRuns: 400 },
    );
  });
});
