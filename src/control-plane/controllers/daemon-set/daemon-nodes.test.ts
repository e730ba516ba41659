import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import { createInformers } from '../../../api/client/informer.ts';
import { daemonSets, nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { NodeTable } from './daemon-nodes.ts';
import { NodeEligibility } from './daemon-pods.ts';
import { buildDaemonSet, buildNode } from './testing/daemon-facts.ts';

const setNames = ['a', 'b'] as const;
const disks = ['ssd', 'hdd', undefined] as const;

const stepArb = fc.oneof(
  fc.record({
    kind: fc.constant('node' as const),
    number: fc.nat(4),
    disk: fc.constantFrom(...disks),
    taint: fc.constantFrom('closed' as const, 'evicts' as const, undefined),
  }),
  fc.record({ kind: fc.constant('heartbeat' as const), number: fc.nat(4) }),
  fc.record({ kind: fc.constant('removeNode' as const), number: fc.nat(4) }),
  fc.record({ kind: fc.constant('set' as const), name: fc.constantFrom(...setNames), disk: fc.constantFrom(...disks) }),
  fc.record({ kind: fc.constant('removeSet' as const), name: fc.constantFrom(...setNames) }),
  fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }),
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

/** Builds a set. `number` counts the sets with this name; each has its own UID. */
function setOf(name: string, disk: string | undefined, number = 0): DaemonSet {
  const { spec } = buildPod(disk === undefined ? {} : { 'spec.nodeSelector': { disk } });
  const template = { metadata: { labels: { app: 'agent' } }, spec };
  return buildDaemonSet({ template }, { name, uid: `uid-${name}-${number}`, generation: 1 });
}

function nodeOf(number: number, disk: string | undefined, taint: 'closed' | 'evicts' | undefined): Node {
  const node = buildNode(`n${number}`, ...(taint === undefined ? [] : [taint]));
  return { ...node, metadata: { ...node.metadata, labels: disk === undefined ? {} : { disk } } };
}

function take(api: FakeApiClient, step: Step, at: number): void {
  const nodeKey = (number: number) => ({ namespace: '', name: `n${number}` });
  if (step.kind === 'node') {
    const node = nodeOf(step.number, step.disk, step.taint);
    const change = (known: Node): Node => ({
      ...node,
      metadata: { ...known.metadata, labels: node.metadata.labels ?? {} },
    });
    if (api.change(nodes, nodeKey(step.number), change) === undefined) api.seed(nodes, node);
  } else if (step.kind === 'heartbeat')
    api.change(nodes, nodeKey(step.number), (known) => ({ ...known, status: { phase: 'Running' as const } }));
  else if (step.kind === 'removeNode') api.remove(nodes, nodeKey(step.number));
  else if (step.kind === 'set') {
    const set = setOf(step.name, step.disk, at + 1);
    const change = (known: DaemonSet): DaemonSet => ({
      ...known,
      metadata: { ...known.metadata, generation: Number(known.metadata.generation ?? 1) + 1 },
      spec: set.spec,
    });
    if (api.change(daemonSets, { namespace: 'default', name: step.name }, change) === undefined)
      api.seed(daemonSets, set);
  } else if (step.kind === 'removeSet') api.remove(daemonSets, { namespace: 'default', name: step.name });
  else {
    if (step.kind === 'compact') api.compact();
    api.endWatches();
  }
}

it('the tracked nodes of a set equal those of a full scan after random changes and late events', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ step: stepArb, thenMs: fc.constantFrom(0, 400, 1_000), asked: fc.boolean() }), {
        maxLength: 40,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const clock = new FakeClock();
        const lag = seededRandom(seed);
        const api = new FakeApiClient({ clock, watchLagMs: () => Math.floor(lag.next() * 800) });
        const informers = createInformers({ client: api, clock, random: seededRandom(seed), log: silentLogger });
        const sets = informers.for(daemonSets);
        const nodeInformer = informers.for(nodes);
        const table = new NodeTable(sets, nodeInformer);
        const agree = (): void => {
          for (const set of sets.list()) {
            const judge = new NodeEligibility(set.spec.template);
            const all = nodeInformer.list().filter((node) => judge.of(node).starts);
            const found = [...table.for(set).starting.values()];
            const byName = (left: Node, right: Node): number => (left.metadata.name < right.metadata.name ? -1 : 1);
            assert.deepEqual(found.sort(byName), all.sort(byName));
          }
        };
        for (const name of setNames) api.seed(daemonSets, setOf(name, undefined));
        informers.start();
        await clock.settle();
        for (const [at, { step, thenMs, asked }] of steps.entries()) {
          take(api, step, at);
          await clock.advance(thenMs);
          if (asked) agree();
        }
        await clock.advance(60_000);
        agree();
        const last = sets.list();
        for (const { metadata } of last) api.remove(daemonSets, { namespace: 'default', name: metadata.name });
        await clock.advance(60_000);
        // A pass may still be running.
        for (const set of last) table.for(set);
        assert.equal(table.size, 0);
        table.stop();
        await informers.stop();
      },
    ),
    { numRuns: 100 },
  ));
