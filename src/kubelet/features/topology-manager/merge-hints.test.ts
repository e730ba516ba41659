import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ResourceHints, TopologyHint } from '../../model/topology-hints.ts';
import { compareMasks, countNodes, hintsOf, positionsOf } from '../../model/topology-hints.ts';
import type { MergeFacts } from './merge-hints.ts';
import { mergeHints } from './merge-hints.ts';

const hint = (affinity: number | undefined, preferred: boolean): TopologyHint => ({ affinity, preferred });
const two = (policy: MergeFacts['policy']): MergeFacts => ({ policy, nodes: 2, distances: undefined });
const only = (...hints: TopologyHint[]): ResourceHints => new Map([['cpu', hints]]);

describe('container placement', () => {
  it('is anywhere if no resource has a preference', () => {
    assert.deepEqual(mergeHints([undefined, new Map()], two('restricted')), { hint: hint(3, true), admit: true });
    assert.deepEqual(mergeHints([undefined], two('single-numa-node')), { hint: hint(undefined, true), admit: true });
  });

  it('is the node that all resources prefer', () => {
    const cpus = only(hint(1, true), hint(2, true), hint(3, false));
    const memory = only(hint(2, true), hint(3, false));
    for (const policy of ['best-effort', 'restricted', 'single-numa-node'] as const)
      assert.deepEqual(mergeHints([cpus, memory], two(policy)), { hint: hint(2, true), admit: true });
  });

  it('is refused by all policies but best-effort when they prefer different nodes', () => {
    const hints = [only(hint(1, true), hint(3, false)), only(hint(2, true), hint(3, false))];
    assert.deepEqual(mergeHints(hints, two('best-effort')), { hint: hint(1, false), admit: true });
    assert.equal(mergeHints(hints, two('restricted')).admit, false);
    assert.equal(mergeHints(hints, two('single-numa-node')).admit, false);
  });

  it('on two nodes is admitted by restricted if the request needs two, and never by single-numa-node', () => {
    const hints = [only(hint(3, true))];
    assert.deepEqual(mergeHints(hints, two('restricted')), { hint: hint(3, true), admit: true });
    assert.equal(mergeHints(hints, two('single-numa-node')).admit, false);
  });

  it('that a resource cannot have at all is refused', () => {
    assert.deepEqual(mergeHints([only()], two('best-effort')), { hint: hint(3, false), admit: true });
    assert.equal(mergeHints([only()], two('restricted')).admit, false);
  });

  it('prefers the closest nodes if configured', () => {
    const distances = [
      [10, 31, 11],
      [31, 10, 31],
      [11, 31, 10],
    ];
    const hints = only(...hintsOf(3, { serves: (mask) => countNodes(mask) >= 2, least: 2 }));
    const facts = { policy: 'best-effort', nodes: 3 } as const;
    assert.equal(mergeHints([hints], { ...facts, distances: undefined }).hint.affinity, 0b011);
    assert.equal(mergeHints([hints], { ...facts, distances }).hint.affinity, 0b101);
  });

  it('is found on 16 nodes without trying all combinations of hints', () => {
    const any = only(...hintsOf(16, { serves: (mask) => countNodes(mask) >= 3, least: 3 }));
    const odd = only(...hintsOf(16, { serves: (mask) => (mask & 1) === 1, least: 1 }));
    assert.deepEqual(
      mergeHints([any, odd], { policy: 'best-effort', nodes: 16, distances: undefined }).hint,
      hint(0b111, false),
    );
  });
});

describe('any hints', () => {
  const nodes = 3;
  const distances = fc.array(fc.array(fc.constantFrom(10, 12, 21, 31), { minLength: nodes, maxLength: nodes }), {
    minLength: nodes,
    maxLength: nodes,
  });
  const list = fc.oneof(
    fc.constant([hint(undefined, true)]),
    fc.array(fc.record({ affinity: fc.integer({ min: 1, max: 7 }), preferred: fc.boolean() }), { maxLength: 5 }),
  );
  const provided = fc.array(
    fc.option(fc.dictionary(fc.constantFrom('cpu', 'memory', 'nic'), list), { nil: undefined }),
    { maxLength: 3 },
  );
  for (const policy of ['best-effort', 'restricted', 'single-numa-node'] as const)
    it(`${policy}: the same placement as from a search of all combinations`, () => {
      fc.assert(
        fc.property(provided, fc.option(distances, { nil: undefined }), (resources, given) => {
          const hints = resources.map((one) => (one === undefined ? undefined : new Map(Object.entries(one))));
          const facts: MergeFacts = { policy, nodes, distances: given };
          assert.deepEqual(mergeHints(hints, facts), naiveMerge(hints, facts));
        }),
        { numRuns: 500 },
      );
    });
});

/** Compares every combination of one hint of each resource, as upstream's documentation describes it. */
function naiveMerge(
  provided: readonly (ResourceHints | undefined)[],
  { policy, nodes, distances }: MergeFacts,
): ReturnType<typeof mergeHints> {
  const all = 2 ** nodes - 1;
  let lists = provided.flatMap((resources) =>
    resources === undefined || resources.size === 0
      ? [[hint(undefined, true)]]
      : [...resources.values()].map((hints) => (hints.length === 0 ? [hint(undefined, false)] : [...hints])),
  );
  if (policy === 'single-numa-node')
    lists = lists.map((hints) =>
      hints.filter(({ affinity, preferred }) => preferred && (affinity === undefined || countNodes(affinity) === 1)),
    );
  let combinations: TopologyHint[][] = [[]];
  for (const hints of lists) combinations = combinations.flatMap((before) => hints.map((one) => [...before, one]));
  const merged = combinations
    .map((combination) => {
      const masks = combination.flatMap(({ affinity }) => (affinity === undefined ? [] : [affinity]));
      return {
        affinity: masks.reduce((both, mask) => both & mask, all),
        preferred: combination.every(({ preferred }) => preferred) && masks.every((mask) => mask === masks[0]),
      };
    })
    .filter(({ affinity }) => affinity !== 0);
  const wanted = Math.max(
    0,
    ...lists.map((hints) => {
      const counts = hints.flatMap(({ affinity }) => (affinity === undefined ? [] : [countNodes(affinity)]));
      return counts.length === 0 ? 0 : Math.min(...counts);
    }),
  );
  const distance = (mask: number): number => {
    const positions = positionsOf(mask);
    const sums = positions.flatMap((from) => positions.map((to) => distances?.[from]?.[to] ?? 0));
    return sums.reduce((sum, value) => sum + value, 0) / sums.length;
  };
  const closer = (left: number, right: number): number =>
    distances === undefined || policy === 'single-numa-node' || countNodes(left) !== countNodes(right)
      ? compareMasks(left, right)
      : distance(left) - distance(right) || left - right;
  const better = (current: (typeof merged)[number], candidate: (typeof merged)[number]): boolean => {
    if (current.preferred !== candidate.preferred) return candidate.preferred;
    const [have, get] = [countNodes(current.affinity), countNodes(candidate.affinity)];
    if (current.preferred || have > wanted || (have === wanted && get === wanted))
      return closer(candidate.affinity, current.affinity) < 0;
    if (have === wanted || get > wanted) return false;
    if (get === wanted) return true;
    return get === have ? closer(candidate.affinity, current.affinity) < 0 : get > have;
  };
  let best = merged[0] ?? { affinity: all, preferred: false };
  for (const candidate of merged) if (better(best, candidate)) best = candidate;
  const result = policy === 'single-numa-node' && best.affinity === all ? { ...best, affinity: undefined } : best;
  return { hint: result, admit: policy === 'best-effort' || result.preferred };
}
