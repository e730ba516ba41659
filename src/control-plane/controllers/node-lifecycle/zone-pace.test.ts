import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { zoneKey } from './node-health.ts';
import { ZonePace } from './zone-pace.ts';

const node = (name: string, zone = 'a'): Node => ({
  metadata: { name, namespace: '', uid: name, labels: { 'topology.kubernetes.io/zone': zone } },
  spec: {},
});
const keyOf = (zone: string): string => zoneKey(node('x', zone));

function setUp(zones: Readonly<Record<string, readonly [ready: number, notReady: number]>>): {
  pace: ZonePace;
  pass(ms: number): void;
} {
  let nowMs = 0;
  const pace = new ZonePace(() => nowMs);
  for (const [zone, [ready, notReady]] of Object.entries(zones)) {
    for (let index = 0; index < ready + notReady; index++) pace.set(node(`${zone}${index}`, zone), index < ready);
  }
  return { pace, pass: (ms) => void (nowMs += ms) };
}

it('one node in ten seconds, each zone by itself', () => {
  const { pace, pass } = setUp({ a: [5, 2], b: [5, 1] });
  assert.deepEqual(pace.takeTurn(keyOf('a')), { kind: 'now' });
  assert.deepEqual(pace.takeTurn(keyOf('b')), { kind: 'now' });
  pass(4_000);
  assert.deepEqual(pace.takeTurn(keyOf('a')), { kind: 'after', waitMs: 6_000 });
  pass(6_000);
  assert.deepEqual(pace.takeTurn(keyOf('a')), { kind: 'now' });
});

it('where more than half of a zone is gone nobody goes, or in a large one a hundredth a second', () => {
  const { pace, pass } = setUp({ small: [4, 6], large: [40, 60], two: [0, 2] });
  assert.deepEqual(pace.takeTurn(keyOf('small')), { kind: 'held' });
  assert.deepEqual(pace.takeTurn(keyOf('large')), { kind: 'now' });
  pass(10_000);
  assert.deepEqual(pace.takeTurn(keyOf('large')), { kind: 'after', waitMs: 90_000 });
  assert.deepEqual(
    pace.takeTurn(keyOf('two')),
    { kind: 'now' },
    'a zone that is gone as a whole is so for itself, while others are there',
  );
});

it('nobody goes where no node is ready anywhere; whoever changes that is told', () => {
  const { pace } = setUp({ a: [1, 1], b: [0, 1] });
  assert.equal(pace.set(node('a0'), true), false);
  assert.equal(pace.set(node('a0'), false), true);
  assert.deepEqual(
    [pace.isAllDown, pace.takeTurn(keyOf('a')), pace.takeTurn(keyOf('b'))],
    [true, { kind: 'held' }, { kind: 'held' }],
  );
  assert.equal(pace.set(node('a0'), true), true);
  assert.deepEqual([pace.isAllDown, pace.takeTurn(keyOf('b'))], [false, { kind: 'now' }]);
  assert.equal(pace.forget(node('a0')), true);
  assert.equal(pace.isAllDown, true);
  assert.equal(setUp({}).pace.isAllDown, false);
});
