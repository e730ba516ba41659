import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { rankPods, selectVictim } from './rank-pods.ts';
import type { EvictionSignal } from './signals.ts';

interface Given {
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
}

function podOf({ request, priority }: Given, index: number, resource: string): Pod {
  return buildPod({
    'metadata.name': `p${index}`,
    'metadata.uid': `p${index}`,
    'metadata.annotations': { 'kubernetes.io/config.source': 'api' },
    'spec.priority': priority,
    'spec.containers': [{ name: 'c', image: 'i:1', resources: { requests: { [resource]: String(request) } } }],
  });
}

const given = fc.array(
  fc.record({
    usage: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    request: fc.integer({ min: 0, max: 5 }),
    priority: fc.integer({ min: -1, max: 1 }),
  }),
  { maxLength: 8 },
);

/** Compares two pods by the documented order. */
function mustPrecede(left: Given, right: Given): boolean {
  if (left.usage === undefined || right.usage === undefined)
    return left.usage === undefined && right.usage !== undefined;
  const [overLeft, overRight] = [left.usage > left.request, right.usage > right.request];
  if (overLeft && !overRight) return true;
  if (!overLeft && overRight) return false;
  if (left.priority < right.priority) return true;
  if (left.priority > right.priority) return false;
  return left.usage - left.request > right.usage - right.request;
}

test('pods rank by unknown use, excess over the request, priority and amount of the excess', () => {
  for (const [signal, resource] of [
    ['memory.available', 'memory'],
    ['nodefs.available', 'ephemeral-storage'],
  ] as const satisfies readonly (readonly [EvictionSignal, string])[])
    fc.assert(
      fc.property(given, (facts) => {
        const pods = facts.map((each, index) => podOf(each, index, resource));
        const ranked = rankPods(pods, signal, (pod) => facts[Number(pod.metadata.name.slice(1))]?.usage);
        const order = ranked.map(({ pod }) => Number(pod.metadata.name.slice(1)));
        assert.deepEqual(order.toSorted(), facts.map((_, index) => index).toSorted());
        for (let at = 1; at < order.length; at++) {
          const [before, after] = [facts[order[at - 1] ?? 0], facts[order[at] ?? 0]];
          assert.ok(before && after && !mustPrecede(after, before), `${JSON.stringify([before, after])}`);
        }
      }),
    );
});

test('the victim is never spared, never uses nothing, and is unknown only when no other one is left', () => {
  fc.assert(
    fc.property(given, fc.array(fc.boolean(), { maxLength: 8 }), (facts, critical) => {
      const pods = facts.map((each, index) =>
        podOf({ ...each, priority: critical[index] === true ? 2_000_000_000 : each.priority }, index, 'memory'),
      );
      const usageOf = (pod: Pod): number | undefined => facts[Number(pod.metadata.name.slice(1))]?.usage;
      const victim = selectVictim(rankPods(pods, 'memory.available', usageOf));
      const eligible = pods.filter((pod, index) => critical[index] !== true && usageOf(pod) !== 0);
      assert.equal(victim === undefined, eligible.length === 0);
      if (victim === undefined) return;
      assert.ok(eligible.includes(victim.pod));
      if (victim.usage === undefined) assert.ok(eligible.every((pod) => usageOf(pod) === undefined));
    }),
  );
});

test('for processes only priority and number of processes count', () => {
  const facts = [
    { usage: 5, request: 0, priority: 1 },
    { usage: 3, request: 0, priority: 0 },
    { usage: 4, request: 0, priority: 0 },
  ];
  const pods = facts.map((each, index) => podOf(each, index, 'memory'));
  const ranked = rankPods(pods, 'pid.available', (pod) => facts[Number(pod.metadata.name.slice(1))]?.usage);
  assert.deepEqual(
    ranked.map(({ pod }) => pod.metadata.name),
    ['p2', 'p1', 'p0'],
  );
});

test('a ranking of 250 pods is cheap, because each comparison uses values computed once', () => {
  let asked = 0;
  const facts = Array.from({ length: 250 }, (_, index) => ({ usage: index % 17, request: index % 13, priority: 0 }));
  const pods = facts.map((each, index) => podOf(each, index, 'memory'));
  rankPods(pods, 'memory.available', (pod) => {
    asked++;
    return facts[Number(pod.metadata.name.slice(1))]?.usage;
  });
  assert.equal(asked, 250);
});

test('pods that could not be measured come first for memory; for processes only among those of the same priority', () => {
  const pods: readonly Given[] = [
    { usage: 5, request: 0, priority: 0 },
    { usage: undefined, request: 0, priority: 0 },
    { usage: 1, request: 0, priority: -1 },
    { usage: undefined, request: 0, priority: 1 },
    { usage: 3, request: 9, priority: -1 },
  ];
  const order = (signal: EvictionSignal, resource: string): string => {
    const made = pods.map((each, index) => podOf(each, index, resource));
    return rankPods(made, signal, (pod) => pods[made.indexOf(pod)]?.usage)
      .map(({ pod }) => pod.metadata.name)
      .join(' ');
  };
  assert.equal(order('memory.available', 'memory'), 'p1 p3 p2 p0 p4');
  assert.equal(order('pid.available', 'memory'), 'p4 p2 p1 p0 p3');
});
