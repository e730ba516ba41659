import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Requirement } from '../../../api/label-requirement.ts';
import { compileKeyed } from '../framework/label-matcher.ts';
import type { KeyedMatcher } from '../framework/label-matcher.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';
import type { SchedulerCache } from './scheduler-cache.ts';

const apps = ['web', 'db', 'job'] as const;
const selectorArb = fc
  .record({
    operator: fc.constantFrom('In' as const, 'NotIn' as const, 'Exists' as const),
    values: fc.subarray([...apps], { minLength: 1 }),
  })
  .map(({ operator, values }): Requirement => ({ key: 'app', operator, values: operator === 'Exists' ? [] : values }));

const changeArb = fc.record({
  what: fc.constantFrom('set', 'set', 'set', 'assume', 'forget', 'remove', 'addNode', 'removeNode'),
  pod: fc.integer({ min: 0, max: 5 }),
  node: fc.constantFrom('a', 'b', 'c'),
  app: fc.constantFrom(...apps),
  leaving: fc.boolean(),
  namespace: fc.constantFrom('default', 'other'),
});
type Change = typeof changeArb extends fc.Arbitrary<infer T> ? T : never;

function apply(cache: SchedulerCache, { what, pod: number, node, app, leaving, namespace }: Change): void {
  const name = `p${number}-${namespace}`;
  const metadata = leaving ? { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 } : {};
  const pod = bound(buildPod(name, { namespace, labels: { app }, metadata }), node);
  if (what === 'set') cache.setPod(pod);
  else if (what === 'assume') cache.assume(pod);
  else if (what === 'forget') cache.forget(`uid-${name}`);
  else if (what === 'remove') cache.removePod(`uid-${name}`);
  else if (what === 'addNode') cache.setNode(buildNode(node));
  else cache.removeNode(node);
}

function counted(cache: SchedulerCache, namespace: string, { matcher }: KeyedMatcher): [string, number][] {
  return cache
    .nodes()
    .map((node): [string, number] => [
      node.name,
      [...node.pods.values()].filter(
        (info) =>
          info.namespace === namespace &&
          info.pod.metadata.deletionTimestamp === undefined &&
          matcher.matches(info.labels),
      ).length,
    ])
    .filter(([, count]) => count > 0)
    .sort();
}

const followed = (cache: SchedulerCache, namespace: string, selector: KeyedMatcher): [string, number][] =>
  [...cache.matching(namespace, selector)].map(([node, count]): [string, number] => [node.name, count]).sort();

describe('the cached counts of matching pods', () => {
  it('a cached count equals a full count after any sequence of changes', () => {
    fc.assert(
      fc.property(
        fc.array(selectorArb, { minLength: 1, maxLength: 3 }),
        fc.array(fc.record({ change: changeArb, asked: fc.boolean() }), { maxLength: 40 }),
        (requirements, steps) => {
          const selectors = requirements.map((requirement) => compileKeyed([requirement]));
          const cache = cacheOf({ nodes: [buildNode('a'), buildNode('b')] });
          const agree = (): void => {
            for (const namespace of ['default', 'other'])
              for (const selector of selectors)
                assert.deepEqual(followed(cache, namespace, selector), counted(cache, namespace, selector));
          };
          for (const { change, asked } of steps) {
            apply(cache, change);
            if (asked) agree();
          }
          agree();
        },
      ),
    );
  });

  it('counts stay correct beyond the limit of tracked selectors, and for selectors that are too long to cache', () => {
    const cache = cacheOf({ nodes: [buildNode('a')] });
    cache.setPod(bound(buildPod('p', { labels: { app: 'web' } }), 'a'));
    const equal = (value: string): KeyedMatcher => compileKeyed([{ key: 'app', operator: 'In', values: [value] }]);
    const long = compileKeyed([{ key: 'app', operator: 'In', values: ['web', 'x'.repeat(5000)] }]);
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 1100; index++)
        assert.deepEqual(followed(cache, 'default', equal(`other-${index}`)), []);
      assert.deepEqual(followed(cache, 'default', equal('web')), [['a', 1 + round]]);
      assert.deepEqual(followed(cache, 'default', long), [['a', 1 + round]]);
      cache.setPod(bound(buildPod('q', { labels: { app: 'web' } }), 'a'));
    }
  });
});
