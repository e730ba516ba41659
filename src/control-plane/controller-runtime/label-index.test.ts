import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createInformers } from '../../api/client/informer.ts';
import { podDisruptionBudgets, pods } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { LabelIndex, SelectorIndex } from './label-index.ts';

const keys = ['app', 'tier', 'toString'] as const;
const values = ['', 'a', 'b'] as const;
const labelsArb = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values));
const selectorArb: fc.Arbitrary<LabelSelector | undefined> = fc.option(
  fc.record(
    {
      matchLabels: labelsArb,
      matchExpressions: fc.array(
        fc.record({
          key: fc.constantFrom(...keys),
          operator: fc.constantFrom('In', 'NotIn'),
          values: fc.subarray([...values], { minLength: 1 }),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const stepArb = fc.record({
  what: fc.constantFrom(
    'pod' as const,
    'pod' as const,
    'budget' as const,
    'removePod' as const,
    'removeBudget' as const,
  ),
  number: fc.nat(3),
  namespace: fc.constantFrom('x', 'y'),
  labels: fc.option(labelsArb, { nil: undefined }),
  selector: selectorArb,
  asked: fc.boolean(),
});

it('labels find what a search through the whole namespace finds, whatever happens', () =>
  fc.assert(
    fc.asyncProperty(fc.array(stepArb, { maxLength: 25 }), fc.nat(1_000), async (steps, seed) => {
      const clock = new FakeClock();
      const lag = seededRandom(seed);
      const api = new FakeApiClient({ clock, watchLagMs: () => Math.floor(lag.next() * 300) });
      const informers = createInformers({ client: api, clock, random: seededRandom(seed), log: silentLogger });
      const podInformer = informers.for(pods);
      const budgets = informers.for(podDisruptionBudgets);
      const byLabel = new LabelIndex(podInformer);
      const bySelector = new SelectorIndex(budgets, 'selector', ({ spec }) => spec.selector);
      const names = (objects: Iterable<{ readonly metadata: { readonly name: string } }>): string[] =>
        [...objects].map(({ metadata }) => metadata.name).sort();
      const agree = (selector: LabelSelector | undefined): void => {
        for (const namespace of ['x', 'y']) {
          const selected = podInformer
            .list(namespace)
            .filter(({ metadata }) => matchesLabelSelector(selector, metadata.labels ?? {}));
          assert.deepEqual(names(byLabel.select(namespace, selector)), names(selected));
          assert.ok(byLabel.countAtMost(namespace, selector) >= selected.length);
        }
        for (const { metadata } of podInformer.list())
          assert.deepEqual(
            names(bySelector.selecting(metadata.namespace, metadata.labels)),
            names(
              budgets
                .list(metadata.namespace)
                .filter(({ spec }) => matchesLabelSelector(spec.selector, metadata.labels ?? {})),
            ),
          );
      };
      informers.start();
      await clock.settle();
      for (const { what, number, namespace, labels, selector, asked } of steps) {
        const key = { namespace, name: `o${number}` };
        if (what === 'removePod') api.remove(pods, key);
        else if (what === 'removeBudget') api.remove(podDisruptionBudgets, key);
        else if (what === 'pod') {
          const { labels: _, ...bare } = buildPod().metadata;
          const metadata = { ...bare, ...key, uid: `${namespace}-${number}`, ...(labels !== undefined && { labels }) };
          if (
            api.change(pods, key, (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: labels ?? {} } })) ===
            undefined
          )
            api.seed(pods, { ...buildPod(), metadata });
        } else {
          const spec = selector === undefined ? {} : { selector };
          if (api.change(podDisruptionBudgets, key, (budget) => ({ ...budget, spec })) === undefined)
            api.seed(podDisruptionBudgets, { metadata: { ...key, uid: `b-${namespace}-${number}` }, spec });
        }
        await clock.advance(100);
        if (asked) agree(selector);
      }
      await clock.advance(1_000);
      agree({});
      agree({ matchLabels: { app: 'a' } });
      await informers.stop();
    }),
  ));
