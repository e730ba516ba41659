import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { StatefulSet, StatefulSetSpec } from '../../../api/apps/stateful-set.ts';
import { createInformers } from '../../../api/client/informer.ts';
import { persistentVolumeClaims, pods, statefulSets } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, decideClaim } from '../../controller-runtime/controller-ref.ts';
import { nextAvailableMs } from '../../controller-runtime/pod-facts.ts';
import { isStepDue } from './is-step-due.ts';
import { isMember } from './set-names.ts';
import { planStatefulSet } from './set-plan.ts';
import type { SetFacts } from './set-plan.ts';
import { revisionOf } from './set-pods.ts';
import { countSetPods } from './set-status.ts';
import { createSetTally } from './set-tally.ts';
import { buildClaim, buildMember, buildSet, buildSetFacts, dataTemplate, setOwner } from './testing/set-facts.ts';
import type { GivenSet } from './testing/set-facts.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

const wordsArb = fc
  .record({
    revision: fc.constantFrom('new', 'new', 'old', 'old'),
    state: fc.constantFrom('', 'running', 'ready', 'ready', 'ready', 'ready', 'failed', 'done'),
    data: fc.constantFrom('data', 'data', 'data', ''),
    leaving: fc.constantFrom('', '', '', '', 'leaving'),
  })
  .map((each) => Object.values(each).join(' '));
const podArb = fc.record({
  kind: fc.constant('pod' as const),
  ordinal: fc.constantFrom<number | string>(0, 1, 2, 3, 4, 0, 1, 2, 3, '01', 'x'),
  words: wordsArb,
  isOwned: fc.constantFrom(true, true, true, true, false),
  isSelected: fc.constantFrom(true, true, true, true, true, false),
});
const specArb: fc.Arbitrary<Partial<StatefulSetSpec>> = fc.record({
  replicas: fc.constantFrom(0, 2, 3, 4),
  ordinals: fc.constantFrom({ start: 0 }, { start: 0 }, { start: 1 }),
  minReadySeconds: fc.constantFrom(0, 0, 5),
  podManagementPolicy: fc.constantFrom('OrderedReady' as const, 'Parallel' as const),
  updateStrategy: fc.constantFrom<NonNullable<StatefulSetSpec['updateStrategy']>>(
    { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
    { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: 2 } },
    { type: 'OnDelete' },
  ),
  volumeClaimTemplates: fc.constantFrom([], [dataTemplate]),
  persistentVolumeClaimRetentionPolicy: fc.constantFrom(
    { whenScaled: 'Retain' as const, whenDeleted: 'Retain' as const },
    { whenScaled: 'Retain' as const, whenDeleted: 'Delete' as const },
  ),
});
const stepArb = fc.oneof(
  { weight: 6, arbitrary: podArb },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removePod' as const), ordinal: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('spec' as const), spec: specArb }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), ordinal: fc.nat(4), isOwned: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeClaim' as const), ordinal: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -9e3, max: 9e3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }) },
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

interface World {
  readonly api: FakeApiClient;
  offsetMs: number;
  generation: number;
}

function takePod(api: FakeApiClient, { ordinal, words, isOwned, isSelected }: Extract<Step, { kind: 'pod' }>): void {
  const built = buildMember(ordinal, words);
  const pod: Pod = {
    ...built,
    metadata: {
      ...built.metadata,
      labels: { ...built.metadata.labels, app: isSelected ? 'db' : 'other' },
      ownerReferences: isOwned ? [setOwner] : [],
    },
  };
  const changed = api.change(pods, at(pod.metadata.name), ({ metadata }) => {
    const { deletionTimestamp: _deleted, ...rest } = metadata;
    return { ...pod, metadata: { ...rest, ...pod.metadata } };
  });
  if (changed === undefined) api.seed(pods, pod);
}

function take(world: World, step: Step): void {
  const { api } = world;
  if (step.kind === 'pod') takePod(api, step);
  else if (step.kind === 'removePod') api.remove(pods, at(`db-${step.ordinal}`));
  else if (step.kind === 'spec') {
    const generation = ++world.generation;
    api.change(statefulSets, at('db'), (known) => ({
      ...buildSet(step.spec),
      metadata: { ...known.metadata, generation },
    }));
  } else if (step.kind === 'claim') {
    const claim = buildClaim(step.ordinal, { owners: step.isOwned ? [setOwner] : [] });
    const changed = api.change(persistentVolumeClaims, at(claim.metadata.name), (known) => ({
      ...known,
      metadata: { ...known.metadata, ownerReferences: claim.metadata.ownerReferences ?? [] },
    }));
    if (changed === undefined) api.seed(persistentVolumeClaims, claim);
  } else if (step.kind === 'removeClaim') api.remove(persistentVolumeClaims, at(`data-db-${step.ordinal}`));
  else if (step.kind === 'jump') world.offsetMs += step.ms;
  else {
    if (step.kind === 'compact') api.compact();
    api.endWatches();
  }
}

async function start(spec: Partial<StatefulSetSpec>, watchLagMs: () => number = () => 0) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, watchLagMs });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const parts = {
    sets: informers.for(statefulSets),
    podInformer: informers.for(pods),
    claims: informers.for(persistentVolumeClaims),
  };
  const tally = createSetTally(parts);
  api.seed(statefulSets, buildSet(spec));
  informers.start();
  await clock.advance(1_000);
  const stop = async (): Promise<void> => {
    tally.stop();
    await informers.stop();
  };
  return { clock, api, ...parts, index: new ControlledIndex(parts.podInformer), tally, stop };
}

type Started = Awaited<ReturnType<typeof start>>;

function factsOf({ index, claims }: Started, set: StatefulSet, nowMs: number): SetFacts {
  return {
    ...buildSetFacts({}),
    set,
    pods: index.ofOwner(set).filter((pod) => decideClaim(set, set.spec.selector, pod, isMember(set, pod)) === 'own'),
    claimOf: (name) => claims.get(at(name)),
    nowMs,
  };
}

/** Compares what the members know with all pods. Returns whether a step is due. */
function agree(started: Started, nowMs: number): boolean {
  const set = started.sets.get(at('db'));
  assert.ok(set !== undefined);
  const members = started.tally.of(set, nowMs);
  const outline = members.outline(set, 'new', nowMs);
  const facts = factsOf(started, set, nowMs);
  assert.deepEqual(members.counts('old', 'new'), countSetPods(facts));
  assert.deepEqual([...members.revisions].toSorted(), [...new Set(facts.pods.map(revisionOf))].toSorted());
  assert.equal(outline.nextAvailableMs, nextAvailableMs(facts.pods, set.spec.minReadySeconds ?? 0, nowMs));
  assert.equal(members.strays, started.index.ofOwner(set).length - facts.pods.length);
  const isDue = isStepDue(set, outline);
  const plan = planStatefulSet(facts);
  if (!isDue) assert.deepEqual([plan.groups.flat(), plan.waitsForClaims], [[], []]);
  return isDue;
}

it('the counts equal those of all pods, and a pass without a due step has no plan, after random changes', () =>
  fc.assert(
    fc.asyncProperty(
      specArb,
      fc.array(fc.record({ step: stepArb, thenMs: fc.constantFrom(0, 400, 1_000), asked: fc.boolean() }), {
        maxLength: 30,
      }),
      fc.nat(1_000),
      async (spec, steps, seed) => {
        const lag = seededRandom(seed);
        const started = await start(spec, () => Math.floor(lag.next() * 800));
        const world: World = { api: started.api, offsetMs: NOW_MS - started.clock.nowMs(), generation: 3 };
        const nowMs = (): number => started.clock.nowMs() + world.offsetMs;
        for (const { step, thenMs, asked } of steps) {
          take(world, step);
          await started.clock.advance(thenMs);
          if (asked) agree(started, nowMs());
        }
        await started.clock.advance(60_000);
        agree(started, nowMs());
        for (const pod of started.api.all(pods)) started.api.remove(pods, at(pod.metadata.name));
        started.api.remove(statefulSets, at('db'));
        await started.clock.advance(60_000);
        assert.deepEqual(started.tally.sizes, { sets: 0, members: 0 });
        await started.stop();
      },
    ),
    { numRuns: 200 },
  ));

describe('no step is due', () => {
  const { metadata, spec: base } = buildSet();
  const isDue = async (given: Pick<GivenSet, 'spec' | 'pods'>): Promise<boolean> => {
    const started = await start({ ...given.spec });
    for (const pod of given.pods ?? [])
      started.api.seed(pods, {
        ...pod,
        metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, app: 'db' }, ownerReferences: [setOwner] },
      });
    await started.clock.settle();
    const due = agree(started, NOW_MS + 3_600_000);
    await started.stop();
    return due;
  };
  const states = (...words: string[]): Pod[] => words.map((each, ordinal) => buildMember(ordinal, each));
  const parallel = { podManagementPolicy: 'Parallel' as const };
  assert.deepEqual([metadata.name, base.replicas], ['db', 3]);

  it('if all pods are ready and of the new revision', async () => {
    assert.equal(await isDue({ pods: states('new ready', 'new ready', 'new ready') }), false);
    assert.equal(await isDue({ spec: parallel, pods: states('new', 'new running', 'new ready') }), false);
  });

  it('while an ordered set waits for a pod below the next one', async () => {
    assert.equal(await isDue({ pods: states('new ready', 'new running') }), false);
    assert.equal(await isDue({ pods: states('new ready', 'new ready') }), true);
    assert.equal(await isDue({ spec: parallel, pods: states('new ready', 'new running') }), true);
  });

  it('while an update waits for a higher pod', async () => {
    const update = { ...parallel, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } } as const;
    assert.equal(await isDue({ spec: update, pods: states('old ready', 'old ready', 'new running') }), false);
    assert.equal(await isDue({ spec: update, pods: states('old ready', 'old ready', 'new ready') }), true);
    const two = {
      ...parallel,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
    } as const;
    assert.equal(await isDue({ spec: two, pods: states('old ready', 'new running', 'new running') }), false);
    assert.equal(await isDue({ spec: two, pods: states('old ready', 'new ready', 'new running') }), true);
  });

  it('for old pods below the partition, or with OnDelete', async () => {
    const kept = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } } as const;
    assert.equal(await isDue({ spec: kept, pods: states('old ready', 'old ready', 'new ready') }), false);
    assert.equal(await isDue({ spec: kept, pods: states('old ready', 'old ready', 'old ready') }), true);
    const byHand = { updateStrategy: { type: 'OnDelete' } } as const;
    assert.equal(await isDue({ spec: byHand, pods: states('old ready', 'old ready', 'old ready') }), false);
  });

  it('while an ordered set waits for the deletion of its highest pod', async () => {
    const one = { replicas: 1 };
    assert.equal(await isDue({ spec: one, pods: states('new ready', 'new ready', 'new ready leaving') }), false);
    assert.equal(await isDue({ spec: one, pods: states('new ready', 'new ready', 'new ready') }), true);
    assert.equal(await isDue({ spec: one, pods: states('new ready', 'new ready leaving') }), false);
  });
});

it('a change of one pod reads no other pod', async () => {
  const started = await start({ replicas: 50 });
  let looks = 0;
  for (let ordinal = 0; ordinal < 50; ordinal++) {
    const pod = buildMember(ordinal, 'new ready');
    // Each count of a pod reads its phase.
    const status = { ...pod.status };
    Object.defineProperty(status, 'phase', { enumerable: true, get: (): 'Running' => (looks++, 'Running') });
    const labels = { ...pod.metadata.labels, app: 'db' };
    started.api.seed(pods, { ...pod, metadata: { ...pod.metadata, labels, ownerReferences: [setOwner] }, status });
  }
  await started.clock.settle();
  const [set] = started.sets.list();
  assert.ok(set !== undefined);
  const read = (): unknown[] => {
    const members = started.tally.of(set, NOW_MS);
    return [isStepDue(set, members.outline(set, 'new', NOW_MS)), members.counts('old', 'new').ready];
  };
  assert.deepEqual(read(), [false, 50]);
  looks = 0;
  started.api.change(pods, at('db-7'), (pod): Pod => ({ ...pod, status: { phase: 'Pending' } }));
  await started.clock.settle();
  assert.deepEqual(read(), [false, 49]);
  assert.ok(looks <= 6, `${looks} looks`);
  await started.stop();
});

it('a change of a claim is known without a change of its pod', async () => {
  const started = await start({
    replicas: 1,
    volumeClaimTemplates: [dataTemplate],
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Retain', whenDeleted: 'Delete' },
  });
  const { api, clock } = started;
  const pod = buildMember(0, 'new ready data', { 'status.phase': 'Pending' });
  const labels = { ...pod.metadata.labels, app: 'db' };
  api.seed(pods, { ...pod, metadata: { ...pod.metadata, labels, ownerReferences: [setOwner] } });
  const due = async (): Promise<string> => {
    await clock.settle();
    const set = started.sets.get(at('db')) ?? assert.fail('no set');
    // The plan of a parallel set shows the step even while the pod is not ready.
    const parallel = { ...set, spec: { ...set.spec, podManagementPolicy: 'Parallel' as const } };
    const { groups } = planStatefulSet(factsOf(started, parallel, NOW_MS));
    return `${isStepDue(set, started.tally.of(set, NOW_MS).outline(set, 'new', NOW_MS))} ${groups.flat().map(({ kind }) => kind)}`;
  };
  const setOwners = (owners: (typeof setOwner)[]): void =>
    void api.change(persistentVolumeClaims, at('data-db-0'), (known) => ({
      ...known,
      metadata: { ...known.metadata, ownerReferences: owners },
    }));
  assert.equal(await due(), 'true claims');
  api.seed(persistentVolumeClaims, buildClaim(0, { owners: [setOwner] }));
  assert.equal(await due(), 'false ');
  setOwners([]);
  assert.equal(await due(), 'true retain');
  setOwners([setOwner]);
  assert.equal(await due(), 'false ');
  api.remove(persistentVolumeClaims, at('data-db-0'));
  assert.equal(await due(), 'true claims');
  await started.stop();
});
