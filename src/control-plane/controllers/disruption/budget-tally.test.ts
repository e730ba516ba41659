import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createInformers } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { podDisruptionBudgets, pods } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { LabelIndex, SelectorIndex } from '../../controller-runtime/label-index.ts';
import { BudgetCounts, createBudgetTally } from './budget-tally.ts';
import type { BudgetTally } from './budget-tally.ts';

const selectors: readonly (LabelSelector | undefined)[] = [
  { matchLabels: { app: 'a' } },
  { matchLabels: { app: 'b', tier: 'x' } },
  { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
  {},
  undefined,
];
const stepArb = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pod' as const),
      number: fc.nat(5),
      app: fc.constantFrom('a', 'b'),
      tier: fc.constantFrom('x', undefined),
      owner: fc.constantFrom('s', 't', undefined),
      ready: fc.boolean(),
      leaving: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removePod' as const), number: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('budget' as const),
      name: fc.constantFrom('m', 'n'),
      selector: fc.constantFrom(...selectors),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeBudget' as const), name: fc.constantFrom('m', 'n') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }) },
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

function buildMember({ number, app, tier, owner, ready, leaving }: Extract<Step, { kind: 'pod' }>): Pod {
  const ref = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner ?? '', uid: owner ?? '', controller: true };
  const pod = buildPod({ 'metadata.name': `p${number}`, 'metadata.uid': `uid-p${number}` });
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: tier === undefined ? { app } : { app, tier },
      ownerReferences: owner === undefined ? [] : [ref],
      ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 }),
    },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

interface World {
  readonly api: FakeApiClient;
  generation: number;
}

function take(world: World, step: Step): void {
  const { api } = world;
  const at = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
  if (step.kind === 'pod') {
    const pod = buildMember(step);
    const changed = api.change(pods, at(pod.metadata.name), ({ metadata }) => {
      const { deletionTimestamp: _deleted, ...rest } = metadata;
      return { ...pod, metadata: { ...rest, ...pod.metadata } };
    });
    if (changed === undefined) api.seed(pods, pod);
  } else if (step.kind === 'removePod') api.remove(pods, at(`p${step.number}`));
  else if (step.kind === 'budget') {
    const generation = ++world.generation;
    const { name } = step;
    const spec = step.selector === undefined ? {} : { selector: step.selector };
    const changed = api.change(podDisruptionBudgets, at(name), (known) => ({
      metadata: { ...known.metadata, generation },
      spec,
    }));
    if (changed === undefined)
      api.seed(podDisruptionBudgets, { metadata: { ...at(name), uid: `uid-${name}`, generation }, spec });
  } else if (step.kind === 'removeBudget') api.remove(podDisruptionBudgets, at(step.name));
  else {
    if (step.kind === 'compact') api.compact();
    api.endWatches();
  }
}

const shown = ({ selected, healthy, unmanaged, owners }: BudgetCounts): unknown => ({
  ...{ selected, healthy, unmanaged },
  owners: owners.map(({ uid }) => uid).toSorted(),
});

async function start(watchLagMs: () => number = () => 0) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, watchLagMs });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const budgets = informers.for(podDisruptionBudgets);
  const podInformer = informers.for(pods);
  const selectable = new LabelIndex(podInformer);
  const bySelector = new SelectorIndex(budgets, 'selector', ({ spec }) => spec.selector);
  const tally: BudgetTally = createBudgetTally({ budgets, pods: podInformer, selectable, selectors: bySelector });
  informers.start();
  await clock.settle();
  return { clock, api, informers, budgets, selectable, tally };
}

it('the counts equal those of a full count after random changes, late events and new lists', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ step: stepArb, thenMs: fc.constantFrom(0, 400, 1_000), asked: fc.boolean() }), {
        maxLength: 40,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const lag = seededRandom(seed);
        const { clock, api, informers, budgets, selectable, tally } = await start(() => Math.floor(lag.next() * 800));
        const world: World = { api, generation: 0 };
        const full = (budget: PodDisruptionBudget): BudgetCounts => {
          const counts = new BudgetCounts(budget);
          for (const pod of selectable.select('default', budget.spec.selector)) counts.add(pod);
          return counts;
        };
        const agree = (): void => {
          for (const budget of budgets.list()) assert.deepEqual(shown(tally.of(budget, 0)), shown(full(budget)));
        };
        for (const { step, thenMs, asked } of steps) {
          take(world, step);
          await clock.advance(thenMs);
          if (asked) agree();
        }
        await clock.advance(60_000);
        agree();
        for (const budget of api.all(podDisruptionBudgets)) api.remove(podDisruptionBudgets, keyOf(budget));
        for (const pod of api.all(pods)) api.remove(pods, keyOf(pod));
        await clock.advance(60_000);
        assert.deepEqual(tally.sizes, { sets: 0, members: 0 });
        tally.stop();
        await informers.stop();
      },
    ),
    { numRuns: 150 },
  ));

it('a change of one pod reads no other', async () => {
  const { clock, api, informers, budgets, tally } = await start();
  const step = { kind: 'pod', app: 'a', tier: undefined, owner: 's', ready: true, leaving: false } as const;
  let reads = 0;
  for (let number = 0; number < 50; number++) {
    const pod = buildMember({ ...step, number });
    const status = { ...pod.status };
    const { conditions } = status;
    Object.defineProperty(status, 'conditions', { enumerable: true, get: () => (reads++, conditions) });
    api.seed(pods, { ...pod, status });
  }
  take({ api, generation: 0 }, { kind: 'budget', name: 'm', selector: { matchLabels: { app: 'a' } } });
  await clock.settle();
  const [budget] = budgets.list();
  assert.ok(budget !== undefined);
  assert.equal(tally.of(budget, 0).healthy, 50);
  reads = 0;
  api.change(pods, { namespace: 'default', name: 'p7' }, (pod): Pod => ({ ...pod, status: {} }));
  await clock.settle();
  assert.deepEqual([tally.of(budget, 0).healthy, tally.of(budget, 0).selected], [49, 50]);
  assert.ok(reads <= 1, `${reads} reads`);
  tally.stop();
  await informers.stop();
});
