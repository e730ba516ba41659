import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Node } from '../../../api/core/node.ts';
import { zoneKey } from './node-health.ts';
import { ZoneRateLimiter } from './zone-rate-limiter.ts';

const node = (name: string, zone = 'a'): Node => ({
  metadata: { name, namespace: '', uid: name, labels: { 'topology.kubernetes.io/zone': zone } },
  spec: {},
});
const keyOf = (zone: string): string => zoneKey(node('x', zone));

function setUp(zones: Readonly<Record<string, readonly [ready: number, notReady: number]>>): {
  limiter: ZoneRateLimiter;
  pass(ms: number): void;
} {
  let nowMs = 0;
  const limiter = new ZoneRateLimiter(() => nowMs);
  for (const [zone, [ready, notReady]] of Object.entries(zones)) {
    for (let index = 0; index < ready + notReady; index++) limiter.set(node(`${zone}${index}`, zone), index < ready);
  }
  return { limiter, pass: (ms) => void (nowMs += ms) };
}

it('evicts one node in ten seconds, separately for each zone', () => {
  const { limiter, pass } = setUp({ a: [5, 2], b: [5, 1] });
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'now' });
  assert.deepEqual(limiter.takeTurn(keyOf('b')), { kind: 'now' });
  pass(4_000);
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'after', waitMs: 6_000 });
  pass(6_000);
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'now' });
});

it('evicts no node if more than half of a zone is down, or in a large zone one in a hundred seconds', () => {
  const { limiter, pass } = setUp({ small: [4, 6], large: [40, 60], two: [0, 2] });
  assert.deepEqual(limiter.takeTurn(keyOf('small')), { kind: 'held' });
  assert.deepEqual(limiter.takeTurn(keyOf('large')), { kind: 'now' });
  pass(10_000);
  assert.deepEqual(limiter.takeTurn(keyOf('large')), { kind: 'after', waitMs: 90_000 });
  assert.deepEqual(
    limiter.takeTurn(keyOf('two')),
    { kind: 'now' },
    'a zone that is gone as a whole is so for itself, while others are there',
  );
});

it('evicts no node while none is ready anywhere, and returns whether that changed', () => {
  const { limiter } = setUp({ a: [1, 1], b: [0, 1] });
  assert.equal(limiter.set(node('a0'), true), false);
  assert.equal(limiter.set(node('a0'), false), true);
  assert.deepEqual(
    [limiter.isAllDown, limiter.takeTurn(keyOf('a')), limiter.takeTurn(keyOf('b'))],
    [true, { kind: 'held' }, { kind: 'held' }],
  );
  assert.equal(limiter.set(node('a0'), true), true);
  assert.deepEqual([limiter.isAllDown, limiter.takeTurn(keyOf('b'))], [false, { kind: 'now' }]);
  assert.equal(limiter.forget(node('a0')), true);
  assert.equal(limiter.isAllDown, true);
  assert.equal(setUp({}).limiter.isAllDown, false);
});

it('no longer counts a moved or deleted node in its old zone', () => {
  const { limiter } = setUp({ a: [1, 4], b: [5, 0] });
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'held' });
  assert.equal(limiter.set(node('a1', 'b'), true), false);
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'held' });
  assert.equal(limiter.set(node('a2', 'b'), true), true, 'the zone that it left is better than half');
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'now' });
  assert.equal(limiter.forget(node('a3')), false);
  assert.equal(limiter.forget(node('a3')), false, 'it is forgotten already');
  assert.equal(limiter.forget(node('never')), false);
});

it('starts with a first permit for a zone that was empty before', () => {
  const { limiter, pass } = setUp({ a: [0, 1], b: [3, 0] });
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'now' });
  pass(1000);
  assert.deepEqual(limiter.takeTurn(keyOf('a')), { kind: 'after', waitMs: 9000 });
  limiter.forget(node('a0'));
  assert.deepEqual(limiter.takeTurn(keyOf('a')).kind, 'now');
  limiter.set(node('a0'), false);
  assert.equal(limiter.takeTurn(keyOf('b')).kind, 'now');
});

it('has the state of a limiter that was given only the last state of each node', () => {
  const changeArb = fc.record({
    name: fc.constantFrom('1', '2', '3', '4'),
    zone: fc.constantFrom('a', 'b'),
    /** Undefined: the node is gone. */
    ready: fc.option(fc.boolean(), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(changeArb, { maxLength: 20 }), (changes) => {
      const limiter = new ZoneRateLimiter(() => 0);
      const last = new Map<string, { readonly zone: string; readonly ready: boolean }>();
      for (const { name, zone, ready } of changes) {
        last.delete(name);
        if (ready === undefined) limiter.forget(node(name, zone));
        else {
          limiter.set(node(name, zone), ready);
          last.set(name, { zone, ready });
        }
      }
      const fresh = new ZoneRateLimiter(() => 0);
      for (const [name, { zone, ready }] of last) fresh.set(node(name, zone), ready);
      const seen = (each: ZoneRateLimiter): unknown => [
        each.isAllDown,
        ...['a', 'b'].map((zone) => each.takeTurn(keyOf(zone))),
      ];
      assert.deepEqual(seen(limiter), seen(fresh));
    }),
  );
});
