import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CleanupDecision, GcContainer, GcPolicy, GcSandbox } from './gc-select.ts';
import { selectContainers, selectSandboxes } from './gc-select.ts';

const NOW_MS = 100;
const dead = (id: string, more: Partial<GcContainer> = {}): GcContainer => ({
  id,
  podUid: 'kept',
  name: 'a',
  attempt: 0,
  sandboxId: 's',
  state: 'exited',
  createdAtMs: 10,
  ...more,
});
const unlimited: GcPolicy = { minAgeMs: 0, maxPerContainer: -1, maxTotal: -1 };

function victims(containers: readonly GcContainer[], policy: Partial<GcPolicy>): string[] {
  const state = { containers, sandboxes: [], decideCleanup: (uid: string) => uid as CleanupDecision };
  return selectContainers(state, { ...unlimited, ...policy }, NOW_MS).map(({ id }) => id);
}

describe('dead containers', () => {
  const three = [dead('old', { createdAtMs: 1 }), dead('mid', { createdAtMs: 2 }), dead('new', { createdAtMs: 3 })];

  for (const [maxPerContainer, removed] of [
    [-1, []],
    [0, ['old', 'mid', 'new']],
    [1, ['old', 'mid']],
    [3, []],
  ] as const)
    it(`are removed above the ${maxPerContainer} newest of a name, the oldest first`, () => {
      assert.deepEqual(victims(three.toReversed(), { maxPerContainer }), removed);
    });

  it('stay until they are old enough, and do not count before', () => {
    const young = [...three, dead('young', { createdAtMs: 91 }), dead('just', { createdAtMs: 90 })];
    assert.deepEqual(victims(young, { minAgeMs: 10, maxPerContainer: 1 }), ['old', 'mid', 'new']);
    assert.deepEqual(victims([dead('young', { createdAtMs: 91, podUid: 'removed' })], { minAgeMs: 10 }), ['young']);
  });

  it('of the same time go by attempt, then by id, whatever their order', () => {
    const same = [dead('b'), dead('a'), dead('z', { attempt: 2 }), dead('y', { attempt: 1 })];
    for (const order of [same, same.toReversed()]) {
      assert.deepEqual(victims(order, { maxPerContainer: 1 }).sort(), ['a', 'b', 'y']);
      assert.deepEqual(victims(order, { maxPerContainer: 3 }), ['a']);
    }
  });

  for (const [maxTotal, removed] of [
    [-1, []],
    [4, []],
    [3, ['old', 'mid']],
    [2, ['old', 'mid']],
    [1, ['old', 'mid', 'new']],
    [0, ['old', 'mid', 'new', 'b']],
  ] as const)
    it(`are at most ${maxTotal} on the node, each name with its share first`, () => {
      const other = dead('b', { name: 'b', createdAtMs: 4 });
      assert.deepEqual(victims([...three, other], { maxTotal }), removed);
    });

  it('that were created and never ran stay, unless a later attempt has run', () => {
    const made = (attempt: number): GcContainer => dead('made', { state: 'created', attempt });
    const none = { maxPerContainer: 1, maxTotal: 1 };
    assert.deepEqual(victims([made(0)], none), []);
    assert.deepEqual(victims([made(0), dead('ran', { attempt: 0 })], none), []);
    assert.deepEqual(victims([made(1), dead('ran', { attempt: 0 })], none), []);
    assert.deepEqual(victims([made(0), dead('ran', { attempt: 1 })], none), ['made']);
  });
});

describe('any dead containers and any limits', () => {
  const container = fc.record({
    podUid: fc.constantFrom('kept', 'removed', 'busy'),
    name: fc.constantFrom('a', 'b', 'c'),
    state: fc.constantFrom('running' as const, 'exited' as const),
    createdAtMs: fc.integer({ min: 40, max: NOW_MS }),
  });
  const policies = fc.record({
    minAgeMs: fc.nat(40),
    maxPerContainer: fc.integer({ min: -1, max: 3 }),
    maxTotal: fc.integer({ min: -1, max: 5 }),
  });

  it('respect the limits, remove the oldest first, and remove only as many as needed', () => {
    fc.assert(
      fc.property(fc.array(container, { maxLength: 12 }), policies, (facts, policy) => {
        const containers = facts.map((fact, index) => dead(`c${index}`, { ...fact, attempt: index }));
        const gone = new Set(victims(containers, policy));
        const records = containers.filter(
          ({ podUid, state, createdAtMs }) =>
            podUid === 'kept' && state === 'exited' && NOW_MS - createdAtMs >= policy.minAgeMs,
        );
        for (const one of containers) {
          if (one.podUid === 'removed') assert.equal(gone.has(one.id), one.state !== 'running');
          else if (!records.includes(one)) assert.equal(gone.has(one.id), false, 'too young, running or busy');
        }
        const [perName, total] = [policy.maxPerContainer, policy.maxTotal].map((max) => (max < 0 ? Infinity : max));
        const left = records.filter(({ id }) => !gone.has(id));
        assert.ok(left.length <= (total ?? 0));
        let within = 0;
        for (const name of ['a', 'b', 'c']) {
          const own = records.filter((one) => one.name === name);
          const stays = own.filter(({ id }) => !gone.has(id));
          assert.ok(stays.length <= (perName ?? 0));
          within += Math.min(own.length, perName ?? 0);
          const oldestLeft = Math.min(...stays.map(({ createdAtMs }) => createdAtMs));
          for (const one of own) if (gone.has(one.id)) assert.ok(one.createdAtMs <= oldestLeft);
        }
        if (within <= (total ?? 0)) assert.equal(left.length, within, 'the limit of the node is kept already');
      }),
      { numRuns: 300 },
    );
  });
});

describe('sandboxes', () => {
  const sandbox = (id: string, more: Partial<GcSandbox> = {}): GcSandbox => ({
    id,
    podUid: 'kept',
    createdAtMs: 1,
    ready: false,
    ...more,
  });
  const removed = (sandboxes: readonly GcSandbox[], containers: readonly GcContainer[], gone: readonly string[]) =>
    selectSandboxes({ sandboxes, containers, decideCleanup: (uid) => uid as CleanupDecision }, new Set(gone)).map(
      ({ id }) => id,
    );

  it('of a removed pod all go, the newest too, once their containers go', () => {
    const [one, two] = [sandbox('s', { podUid: 'removed' }), sandbox('t', { podUid: 'removed', createdAtMs: 2 })];
    const inside = dead('c', { sandboxId: 's' });
    assert.deepEqual(removed([one, two], [inside], []), ['t']);
    assert.deepEqual(removed([one, two], [inside], ['c']), ['s', 't']);
  });

  it('of a pod that stays keep the newest, of those of one time the one with the greatest id', () => {
    assert.deepEqual(removed([sandbox('a'), sandbox('b')], [], []), ['a']);
    assert.deepEqual(removed([sandbox('b'), sandbox('a')], [], []), ['a']);
  });
});
