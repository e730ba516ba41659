import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { plainDevice } from '../../ports/testing/fake-device-plugins.ts';
import type { SelectionFacts } from './select-devices.ts';
import { completeSelection, selectDevices } from './select-devices.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const someIds = fc.subarray(ids);

const facts: fc.Arbitrary<SelectionFacts> = fc
  .record({
    needed: fc.integer({ min: 1, max: 9 }),
    reusable: someIds,
    free: someIds,
    nodes: fc.array(fc.subarray([0, 1, 2]), { minLength: 8, maxLength: 8 }),
    affinity: fc.option(fc.subarray([0, 1, 2]), { nil: undefined }),
  })
  .map(({ nodes, reusable, ...rest }) => ({
    ...rest,
    // A device of an init container is not free.
    free: rest.free.filter((id) => !reusable.includes(id)),
    reusable,
    devices: new Map(ids.map((id, index) => [id, plainDevice(id, { numaNodes: nodes[index] ?? [] })])),
  }));

const preference = fc.array(fc.constantFrom(...ids, 'unknown', ''), { maxLength: 12 });

/** A reference implementation that ignores cost: ranks every device and takes the best ones. */
function naive(given: SelectionFacts, preferred: readonly string[]): string[] | undefined {
  const { needed, reusable, free, devices, affinity } = given;
  if (reusable.length + free.length < needed) return undefined;
  const usesTopology = affinity !== undefined && free.some((id) => (devices.get(id)?.numaNodes.length ?? 0) > 0);
  const groupOf = (id: string): number => {
    const nodes = devices.get(id)?.numaNodes ?? [];
    if (!usesTopology || nodes.length === 0) return 3;
    return nodes.some((node) => affinity.includes(node)) ? 1 : 2;
  };
  const open = Math.max(0, needed - reusable.length);
  const aligned = free.filter((id) => groupOf(id) === 1);
  const rank = (id: string): number[] => {
    const liked = preferred.indexOf(id) === -1 ? Infinity : preferred.indexOf(id);
    const group = groupOf(id);
    // Near devices come first. The plugin chooses among them only if there are more than needed.
    if (open < aligned.length) return [group === 1 ? 0 : 1, liked, free.indexOf(id)];
    return group === 1 ? [0, free.indexOf(id), 0] : [1, liked, group, free.indexOf(id)];
  };
  const order = free.toSorted((left, right) => {
    const [own, other] = [rank(left), rank(right)];
    const at = own.findIndex((value, index) => value !== other[index]);
    return at === -1 || (own[at] ?? 0) < (other[at] ?? 0) ? -1 : 1;
  });
  return [...reusable, ...order].slice(0, needed);
}

describe('the devices of a container', () => {
  it('are those of the plain rule', () => {
    fc.assert(
      fc.property(facts, preference, (given, preferred) => {
        const chosen = completeSelection(given, preferred);
        const expected = naive(given, preferred);
        assert.deepEqual(chosen.kind === 'chosen' ? chosen.ids.toSorted() : undefined, expected?.toSorted());
      }),
      { numRuns: 2000 },
    );
  });

  it('are as many as asked for, each once, and only available ones', () => {
    fc.assert(
      fc.property(facts, preference, (given, preferred) => {
        const chosen = completeSelection(given, preferred);
        if (chosen.kind === 'short') return assert.ok(given.reusable.length + given.free.length < given.needed);
        assert.equal(chosen.ids.length, given.needed);
        assert.equal(new Set(chosen.ids).size, given.needed);
        for (const id of chosen.ids) assert.ok(given.free.includes(id) || given.reusable.includes(id), id);
      }),
    );
  });

  it('are asked of the plugin only where there is a choice, with what it must include', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const first = selectDevices(given);
        if (first.kind !== 'ask') return;
        assert.ok(first.available.length >= given.needed);
        for (const id of first.mustInclude) assert.ok(first.available.includes(id), id);
        const complete = completeSelection(given, []);
        assert.ok(complete.kind === 'chosen' && first.mustInclude.every((id) => complete.ids.includes(id)));
      }),
    );
  });

  it('report how many are missing', () => {
    const devices = new Map([['a', plainDevice('a')]]);
    const given = { needed: 3, reusable: ['x'], free: ['a'], devices, affinity: undefined };
    assert.deepEqual(selectDevices(given), { kind: 'short', requested: 2, available: 1 });
  });

  it('of a container are chosen by the plugin among the near ones, or among all others when those are too few', () => {
    const devices = new Map([
      ['a', plainDevice('a', { numaNodes: [0] })],
      ['b', plainDevice('b', { numaNodes: [1, 0] })],
      ['c', plainDevice('c', { numaNodes: [1] })],
      ['d', plainDevice('d', { numaNodes: [] })],
    ]);
    const select = (needed: number, more: Partial<SelectionFacts> = {}) =>
      selectDevices({ needed, reusable: [], free: ['d', 'c', 'b', 'a'], devices, affinity: [0], ...more });
    assert.deepEqual(select(1), { kind: 'ask', available: ['b', 'a'], mustInclude: [] });
    assert.deepEqual(select(2), { kind: 'chosen', ids: ['b', 'a'] });
    assert.deepEqual(select(3), { kind: 'ask', available: ['d', 'c', 'b', 'a'], mustInclude: ['b', 'a'] });
    assert.deepEqual(select(1, { affinity: undefined }), {
      kind: 'ask',
      available: ['d', 'c', 'b', 'a'],
      mustInclude: [],
    });
    assert.deepEqual(select(2, { reusable: ['x'] }), { kind: 'ask', available: ['b', 'a', 'x'], mustInclude: ['x'] });
    assert.deepEqual(select(4, { reusable: ['x'] }), {
      kind: 'ask',
      available: ['d', 'c', 'b', 'a', 'x'],
      mustInclude: ['x', 'b', 'a'],
    });
    assert.deepEqual(select(1, { reusable: ['a', 'b'] }), { kind: 'chosen', ids: ['a'] });
    assert.deepEqual(select(4, { reusable: ['a'] }), {
      kind: 'ask',
      available: ['d', 'c', 'b', 'a'],
      mustInclude: ['a', 'b'],
    });
    assert.deepEqual(select(5, { reusable: ['a'] }), { kind: 'short', requested: 4, available: 3 });
  });
});
