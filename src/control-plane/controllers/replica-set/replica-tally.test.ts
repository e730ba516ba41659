import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { createInformers } from '../../../api/client/informer.ts';
import { pods, replicaSets } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import { countReplicas } from './replica-counts.ts';
import { createReplicaTally } from './replica-tally.ts';

const setNames = ['a', 'b'] as const;

interface PodFacts {
  readonly set: string | undefined;
  readonly app: string;
  readonly tier: string | undefined;
  readonly phase: 'Pending' | 'Running' | 'Succeeded';
  readonly ready: boolean;
  readonly leaving: boolean;
}
const podArb: fc.Arbitrary<PodFacts> = fc.record({
  set: fc.constantFrom('a', 'a', 'b', undefined, 'gone'),
  app: fc.constantFrom('a', 'b'),
  tier: fc.constantFrom('x', undefined),
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Succeeded'),
  ready: fc.boolean(),
  leaving: fc.boolean(),
});

const stepArb = fc.oneof(
  fc.record({ kind: fc.constant('pod' as const), number: fc.nat(5), facts: podArb }),
  fc.record({ kind: fc.constant('pod' as const), number: fc.nat(5), facts: podArb }),
  fc.record({ kind: fc.constant('removePod' as const), number: fc.nat(5) }),
  fc.record({
    kind: fc.constant('set' as const),
    name: fc.constantFrom(...setNames),
    app: fc.constantFrom('a', 'b'),
    minReadySeconds: fc.constantFrom(0, 3),
    tier: fc.constantFrom('x', 'y'),
  }),
  fc.record({ kind: fc.constant('removeSet' as const), name: fc.constantFrom(...setNames) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 4_000 }) }),
  fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -5_000, max: 5_000 }) }),
  fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }),
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

function buildSet(name: string, app: string, minReadySeconds: number, tier: string, generation = 1): ReplicaSet {
  return {
    metadata: { namespace: 'default', name, uid: `uid-${name}`, generation },
    spec: {
      replicas: 1,
      minReadySeconds,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app, tier } }, spec: buildPod().spec },
    },
  };
}

function buildMember(number: number, { set, app, tier, phase, ready, leaving }: PodFacts, nowMs: number): Pod {
  const pod = buildPod({ 'metadata.name': `p${number}`, 'metadata.uid': `uid-p${number}` });
  const time = formatTime(nowMs);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: set ?? '', uid: `uid-${set}`, controller: true };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: tier === undefined ? { app } : { app, tier },
      ...(set !== undefined && { ownerReferences: [owner] }),
      ...(leaving && { deletionTimestamp: time, deletionGracePeriodSeconds: 30 }),
    },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: time }] },
  };
}

interface Fixture {
  readonly api: FakeApiClient;
  readonly clock: FakeClock;
  /** The offset of the wall clock. */
  offsetMs: number;
  /** The generation of the newest set. A recreated set has the UID of the former one, so that its pods stay its own. */
  generation: number;
}

async function take(fixture: Fixture, step: Step, nowMs: number): Promise<void> {
  const { api, clock } = fixture;
  if (step.kind === 'pod') {
    const pod = buildMember(step.number, step.facts, nowMs);
    if (
      api.change(pods, { namespace: 'default', name: pod.metadata.name }, (known) => ({
        ...pod,
        metadata: { ...known.metadata, ...pod.metadata, ownerReferences: pod.metadata.ownerReferences ?? [] },
      })) === undefined
    )
      api.seed(pods, pod);
  } else if (step.kind === 'removePod') api.remove(pods, { namespace: 'default', name: `p${step.number}` });
  else if (step.kind === 'set') {
    fixture.generation += 1;
    const set = buildSet(step.name, step.app, step.minReadySeconds, step.tier, fixture.generation);
    const key = { namespace: 'default', name: step.name };
    if (
      api.change(replicaSets, key, (known) => ({
        ...known,
        metadata: { ...known.metadata, generation: fixture.generation },
        spec: set.spec,
      })) === undefined
    )
      api.seed(replicaSets, set);
  } else if (step.kind === 'removeSet') api.remove(replicaSets, { namespace: 'default', name: step.name });
  else if (step.kind === 'wait') await clock.advance(step.ms);
  else if (step.kind === 'endWatches') api.endWatches();
  else if (step.kind === 'compact') {
    // All changes in the meantime arrive with a new list.
    api.compact();
    api.endWatches();
  }
}

it('the counts equal those of a full count after random changes, late events and new lists', () =>
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
        const sets = informers.for(replicaSets);
        const podInformer = informers.for(pods);
        const index = new ControlledIndex(podInformer);
        const tally = createReplicaTally(sets, podInformer);
        const world: Fixture = { api, clock, offsetMs: 0, generation: 1 };
        const agree = (): void => {
          const nowMs = clock.nowMs() + world.offsetMs;
          for (const set of sets.list())
            assert.deepEqual(tally.of(set, nowMs).read(set, nowMs), countReplicas(set, index.ofOwner(set), nowMs));
        };
        for (const name of setNames) api.seed(replicaSets, buildSet(name, name, 3, 'x'));
        informers.start();
        await clock.settle();
        for (const { step, thenMs, asked } of steps) {
          if (step.kind === 'jump') world.offsetMs += step.ms;
          else await take(world, step, clock.nowMs() + world.offsetMs);
          await clock.advance(thenMs);
          if (asked) agree();
        }
        await clock.advance(60_000);
        agree();
        for (const set of api.all(replicaSets))
          api.remove(replicaSets, { namespace: 'default', name: set.metadata.name });
        for (const pod of api.all(pods)) api.remove(pods, { namespace: 'default', name: pod.metadata.name });
        await clock.advance(60_000);
        assert.deepEqual(tally.sizes, { sets: 0, members: 0 });
        tally.stop();
        await informers.stop();
      },
    ),
    { numRuns: 150 },
  ));

it('a wall clock that was set back makes pods wait again', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const sets = informers.for(replicaSets);
  const tally = createReplicaTally(sets, informers.for(pods));
  const set = api.seed(replicaSets, buildSet('a', 'a', 10, 'x'));
  const facts = { set: 'a', app: 'a', tier: 'x', phase: 'Running', ready: true, leaving: false } as const;
  api.seed(pods, buildMember(1, facts, 5_000));
  informers.start();
  await clock.settle();
  const read = (nowMs: number): unknown[] => {
    const { available, nextAvailableMs } = tally.of(set, nowMs).read(set, nowMs);
    return [available, nextAvailableMs];
  };
  assert.deepEqual([read(14_000), read(15_000), read(12_000), read(20_000)].flat(), [
    ...[0, 1_000],
    ...[1, undefined],
    ...[0, 3_000],
    ...[1, undefined],
  ]);
  tally.stop();
  await informers.stop();
});

it('a change of one pod reads no other pod', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const sets = informers.for(replicaSets);
  const podInformer = informers.for(pods);
  let looks = 0;
  const tally = createReplicaTally(sets, podInformer);
  informers.start();
  await clock.settle();
  const facts = { set: 'a', app: 'a', tier: 'x', phase: 'Running', ready: true, leaving: false } as const;
  api.seed(replicaSets, buildSet('a', 'a', 0, 'x'));
  for (let number = 0; number < 50; number++) {
    const pod = buildMember(number, facts, 0);
    // Each count of a pod reads its phase.
    const status = { ...pod.status };
    Object.defineProperty(status, 'phase', { enumerable: true, get: (): 'Running' => (looks++, 'Running') });
    api.seed(pods, { ...pod, status });
  }
  await clock.settle();
  const [set] = sets.list();
  assert.ok(set !== undefined);
  assert.equal(tally.of(set, 0).read(set, 0).ready, 50);
  looks = 0;
  api.change(pods, { namespace: 'default', name: 'p7' }, (pod): Pod => ({ ...pod, status: { phase: 'Pending' } }));
  await clock.settle();
  assert.deepEqual([tally.of(set, 0).read(set, 0).ready, tally.of(set, 0).read(set, 0).active], [49, 50]);
  assert.ok(looks <= 3, `${looks} looks`);
  tally.stop();
  await informers.stop();
});
