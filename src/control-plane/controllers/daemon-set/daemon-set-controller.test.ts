import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSet, DaemonSetSpec } from '../../../api/apps/daemon-set.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, daemonSets, nodes, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import { goJson } from '../../../api/go-json.ts';
import { templatePatch } from '../../controller-runtime/template-revision.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import type { WorldOptions } from '../../controller-runtime/testing/controller-world.ts';
import { createDaemonSetController } from './daemon-set-controller.ts';

const agent = { namespace: 'default', name: 'agent' };
type Template = DaemonSetSpec['template'];
const template = (image: string, changes: Record<string, unknown> = {}): Template => ({
  metadata: { labels: { app: 'agent' } },
  spec: buildPod({ 'spec.containers[0].image': image, ...changes }).spec,
});

function build(more: Partial<DaemonSetSpec> = {}): DaemonSet {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } as const;
  return {
    metadata: { ...agent, uid: 'ds-1' },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: template('v1'),
      updateStrategy,
      revisionHistoryLimit: 10,
      ...more,
    },
  };
}

const startsSlowly = (_pod: unknown, ageMs: number): 'running' | 'ready' => (ageMs >= 1_000 ? 'ready' : 'running');

async function setUp(
  set: DaemonSet,
  { nodeCount = 3, ...options }: Partial<WorldOptions> & { nodeCount?: number } = {},
): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createDaemonSetController(each)],
    owners: [daemonSets],
    outcome: startsSlowly,
    ...options,
  });
  for (let index = 1; index <= nodeCount; index++) world.addNode(`n${index}`);
  world.api.seed(daemonSets, set);
  world.start();
  await world.clock.settle();
  return world;
}

const change = (world: ControllerWorld, spec: Partial<DaemonSetSpec>): void =>
  void world.api.change(daemonSets, agent, (each) => ({ ...each, spec: { ...each.spec, ...spec } }));
const roll = (world: ControllerWorld, image: string): void => change(world, { template: template(image) });
const where = (world: ControllerWorld): string[] =>
  world.activePods.map(({ spec }) => `${spec.nodeName} ${spec.containers[0]?.image}`).toSorted();
const status = (world: ControllerWorld): DaemonSet['status'] => world.api.peek(daemonSets, agent)?.status;
const revisions = (world: ControllerWorld): [number, string | undefined][] =>
  world.api
    .all(controllerRevisions)
    .map(({ revision, data }): [number, string | undefined] => [
      Number(revision),
      (data as { spec: { template: Template } }).spec.template.spec.containers[0]?.image,
    ])
    .toSorted(([left], [right]) => left - right);

it('a revision is created once, however late the cache shows it', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const world = await setUp(build(), { seed, lagMs: 3_000 });
    await world.run(20_000);
    roll(world, 'v2');
    await world.run(30_000);
    const tried = world.api.writes.filter((each) => each.startsWith('create controllerrevisions'));
    assert.equal(tried.length, 2, `seed ${seed}`);
    await world.stop();
  }
});

describe('placement', () => {
  it('each node gets one pod, which the scheduler binds by its node affinity', async () => {
    const world = await setUp(build());
    await world.run(4_000);
    assert.deepEqual(where(world), ['n1 v1', 'n2 v1', 'n3 v1']);
    assert.deepEqual(status(world), {
      currentNumberScheduled: 3,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      numberReady: 3,
      observedGeneration: 1,
      updatedNumberScheduled: 3,
      numberAvailable: 3,
      numberUnavailable: 0,
    });
    const [pod] = world.activePods as [Pod];
    const [revision] = world.api.all(controllerRevisions) as [ControllerRevision];
    assert.equal(
      pod.metadata.labels?.['controller-revision-hash'],
      revision.metadata.labels?.['controller-revision-hash'],
    );
    assert.deepEqual(pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution, {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [pod.spec.nodeName] }] }],
    });
    const tolerated = (pod.spec.tolerations ?? [])
      .filter(({ key }) => key?.startsWith('node.kubernetes.io/'))
      .map(({ key, operator, effect, tolerationSeconds }) => `${key} ${operator} ${effect} ${tolerationSeconds}`);
    assert.deepEqual(tolerated.toSorted(), [
      'node.kubernetes.io/disk-pressure Exists NoSchedule undefined',
      'node.kubernetes.io/memory-pressure Exists NoSchedule undefined',
      'node.kubernetes.io/not-ready Exists NoExecute undefined',
      'node.kubernetes.io/pid-pressure Exists NoSchedule undefined',
      'node.kubernetes.io/unreachable Exists NoExecute undefined',
      'node.kubernetes.io/unschedulable Exists NoSchedule undefined',
    ]);
    assert.ok(world.events.includes(`Normal SuccessfulCreate Created pod: ${pod.metadata.name}`));
    await world.stop();
  });

  it('follows new, changed and deleted nodes, and ignores heartbeats', async () => {
    const world = await setUp(build({ template: template('v1', { 'spec.nodeSelector': { disk: 'ssd' } }) }), {
      nodeCount: 2,
    });
    await world.run(2_000);
    assert.deepEqual([where(world), status(world)?.desiredNumberScheduled], [[], 0]);
    world.api.change(nodes, { namespace: '', name: 'n1' }, (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { disk: 'ssd' } },
    }));
    world.addNode('n3', { labels: { disk: 'ssd' } });
    await world.run(4_000);
    assert.deepEqual(where(world), ['n1 v1', 'n3 v1']);
    const { length } = world.api.calls;
    world.api.change(nodes, { namespace: '', name: 'n1' }, (node) => ({
      ...node,
      status: { ...node.status, phase: 'Running' as const },
    }));
    await world.run(2_000);
    assert.equal(world.api.calls.length, length);
    world.api.change(nodes, { namespace: '', name: 'n1' }, (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: {} },
    }));
    await world.run(4_000);
    assert.deepEqual([where(world), status(world)?.desiredNumberScheduled], [['n3 v1'], 1]);
    await world.stop();
  });

  it('creates no pod on tainted nodes; existing pods stay unless the taint is NoExecute', async () => {
    const world = await setUp(build(), { nodeCount: 2 });
    await world.run(3_000);
    const taint = (name: string, effect: 'NoSchedule' | 'NoExecute'): void =>
      void world.api.change(nodes, { namespace: '', name }, (node) => ({
        ...node,
        spec: { ...node.spec, taints: [{ key: 'k', effect }] },
      }));
    taint('n1', 'NoSchedule');
    taint('n2', 'NoExecute');
    world.addNode('n3', { taints: [{ key: 'k', effect: 'NoSchedule' }] });
    world.addNode('n4', { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] });
    await world.run(4_000);
    assert.deepEqual(
      [where(world), status(world)?.numberMisscheduled, status(world)?.desiredNumberScheduled],
      [['n1 v1', 'n4 v1'], 1, 1],
    );
    await world.stop();
  });

  it('deletes a pod whose node does not exist', async () => {
    const world = await setUp(build(), { nodeCount: 1 });
    await world.run(2_000);
    world.addNode('brief');
    await world.clock.settle();
    await world.clock.advance(100);
    world.api.remove(nodes, { namespace: '', name: 'brief' });
    await world.run(3_000);
    assert.deepEqual([where(world), world.api.all(pods).length], [['n1 v1'], 1]);
    await world.stop();
  });

  it('a daemon set that selects everything is rejected with an event', async () => {
    const world = await setUp(build({ selector: {} }));
    await world.run(1_000);
    assert.deepEqual(
      [world.events, world.api.all(pods).length],
      [['Warning SelectingAll This daemon set is selecting all pods. A non-empty selector is required.'], 0],
    );
    await world.stop();
  });

  it('replaces failed pods with a growing back-off', async () => {
    const world = await setUp(build(), { nodeCount: 1, outcome: () => 'failed' });
    await world.run(70_000);
    const made = world.api.writes.filter((each) => each.startsWith('create pods')).length;
    assert.ok(made >= 6 && made <= 9, `${made} pods`);
    const name = /create pods default\/agent-/;
    assert.ok(name.test(world.api.writes.join('\n')));
    assert.match(
      world.events.find((each) => each.includes('FailedDaemonPod')) ?? '',
      /^Warning FailedDaemonPod Found failed daemon pod default\/agent-\w+ on node n1, will try to kill it$/,
    );
    await world.stop();
  });

  it('of two daemon pods on a node the older one stays', async () => {
    const world = await setUp(build(), { nodeCount: 1 });
    await world.run(3_000);
    const [first] = world.activePods as [Pod];
    const second = {
      ...first,
      metadata: { ...first.metadata, name: 'second', uid: 'second', creationTimestamp: '2026-01-01T00:00:02Z' },
    };
    world.api.seed(pods, second);
    await world.run(3_000);
    assert.deepEqual(
      world.activePods.map(({ metadata }) => metadata.name),
      [first.metadata.name],
    );
    await world.stop();
  });
});

describe('a rolling update', () => {
  it('replaces pods node by node within maxUnavailable', async () => {
    const world = await setUp(
      build({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 0 } } }),
      { nodeCount: 6 },
    );
    await world.run(4_000);
    let least = 6;
    world.check = () => (least = Math.min(least, world.activePods.filter(isPodReady).length));
    roll(world, 'v2');
    await world.run(20_000);
    assert.deepEqual(
      [new Set(where(world).map((each) => each.slice(3))), least, status(world)?.updatedNumberScheduled],
      [new Set(['v2']), 4, 6],
    );
    assert.deepEqual(revisions(world), [
      [1, 'v1'],
      [2, 'v2'],
    ]);
    await world.stop();
  });

  it('with maxSurge always keeps a pod on each node, and creates at most maxSurge additional pods', async () => {
    const world = await setUp(
      build({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '40%' } } }),
      { nodeCount: 4 },
    );
    await world.run(4_000);
    let [least, most] = [4, 4];
    world.check = () => {
      least = Math.min(least, world.activePods.filter(isPodReady).length);
      most = Math.max(most, world.activePods.length);
    };
    roll(world, 'v2');
    await world.run(20_000);
    assert.deepEqual([where(world), least, most], [['n1 v2', 'n2 v2', 'n3 v2', 'n4 v2'], 4, 6]);
    await world.stop();
  });

  it('whose pods do not become ready stops at maxUnavailable', async () => {
    const world = await setUp(build(), { nodeCount: 4 });
    await world.run(4_000);
    world.outcome = (pod, ageMs) => (pod.spec.containers[0]?.image === 'broken' ? 'running' : startsSlowly(pod, ageMs));
    roll(world, 'broken');
    await world.run(30_000);
    assert.equal(where(world).filter((each) => each.endsWith('broken')).length, 1);
    const { length } = world.api.writes;
    await world.run(30_000);
    assert.equal(world.api.writes.length, length);
    await world.stop();
  });

  it('waits minReadySeconds on each node', async () => {
    const world = await setUp(build({ minReadySeconds: 10 }), { nodeCount: 2 });
    await world.run(15_000);
    roll(world, 'v2');
    await world.run(8_000);
    assert.equal(where(world).filter((each) => each.endsWith('v2')).length, 1);
    await world.run(25_000);
    assert.deepEqual([where(world), status(world)?.numberAvailable], [['n1 v2', 'n2 v2'], 2]);
    await world.stop();
  });

  it('with OnDelete happens when a user deletes the old pod', async () => {
    const world = await setUp(build({ updateStrategy: { type: 'OnDelete' } }), { nodeCount: 2 });
    await world.run(3_000);
    roll(world, 'v2');
    await world.run(5_000);
    assert.deepEqual([where(world), status(world)?.updatedNumberScheduled], [['n1 v1', 'n2 v1'], 0]);
    await world.api.delete(pods, keyOf(world.activePods.find(({ spec }) => spec.nodeName === 'n1') as Pod));
    await world.run(5_000);
    assert.deepEqual(where(world), ['n1 v2', 'n2 v1']);
    await world.stop();
  });
});

describe('revisions', () => {
  it('are patches that restore a template; a rollback renumbers, and a limited number is kept', async () => {
    const world = await setUp(build({ revisionHistoryLimit: 1 }), { nodeCount: 1 });
    for (const image of ['v1', 'v2', 'v3', 'v2']) {
      roll(world, image);
      await world.run(6_000);
    }
    assert.deepEqual(revisions(world), [
      [3, 'v3'],
      [4, 'v2'],
    ]);
    const { data } = world.api.all(controllerRevisions)[0] as {
      data?: { spec: { template: Record<string, unknown> } };
    };
    assert.equal(data?.spec.template['$patch'], 'replace');
    assert.equal(goJson(data), goJson(templatePatch(template('v2'))));
    await world.stop();
  });

  it('of the same template are merged in the next pass; a new revision alone causes no pass', async () => {
    const world = await setUp(build(), { nodeCount: 1 });
    await world.run(3_000);
    const [revision] = world.api.all(controllerRevisions) as [ControllerRevision];
    world.api.seed(controllerRevisions, {
      ...revision,
      metadata: {
        ...revision.metadata,
        name: 'agent-newer',
        uid: 'newer',
        labels: { ...revision.metadata.labels, 'controller-revision-hash': 'newer' },
      },
      revision: 5,
    });
    await world.run(3_000);
    assert.equal(world.api.all(controllerRevisions).length, 2);
    const [daemonSet] = world.api.all(daemonSets) as [DaemonSet];
    world.api.seed(daemonSets, { ...daemonSet, metadata: { ...daemonSet.metadata, annotations: { touched: 'yes' } } });
    await world.run(3_000);
    assert.deepEqual(
      [
        world.api.all(controllerRevisions).map(({ metadata }) => metadata.name),
        world.activePods.map(({ metadata }) => metadata.labels?.['controller-revision-hash']),
      ],
      [['agent-newer'], ['newer']],
    );
    await world.stop();
  });

  it('a revision gets another name if two templates have the same hash', async () => {
    const world = await setUp(build(), { nodeCount: 1 });
    await world.run(3_000);
    const [revision] = world.api.all(controllerRevisions) as [ControllerRevision];
    world.api.seed(controllerRevisions, { ...revision, data: { spec: { template: template('foreign') } } });
    await world.run(8_000);
    assert.deepEqual(
      [status(world)?.collisionCount, revisions(world)],
      [
        1,
        [
          [1, 'foreign'],
          [2, 'v1'],
        ],
      ],
    );
    await world.stop();
  });
});

it('despite crashes and random events, each eligible node has one pod of the newest template', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('roll' as const), image: fc.constantFrom('v1', 'v2', 'v3') }),
    fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 6 }) }),
    fc.record({
      kind: fc.constantFrom('fail' as const, 'delete' as const, 'node' as const, 'taint' as const),
      which: fc.nat(20),
    }),
  );
  const bounds = fc.constantFrom([1, 0], [2, 0], ['50%', 0], [0, 1], [0, '50%']);
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(event, fc.integer({ min: 1, max: 8 })), { maxLength: 10 }),
      bounds,
      fc.nat(1_000),
      async (steps, [maxUnavailable, maxSurge], seed) => {
        const world = await setUp(
          build({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge } } }),
          { seed, lagMs: 600 },
        );
        let image = 'v1';
        let added = 3;
        for (const [step, halfSeconds] of steps) {
          if (step.kind === 'roll') roll(world, (image = step.image));
          else if (step.kind === 'kill') world.restartAtWrite(step.writes);
          else if (step.kind === 'node') world.addNode(`n${++added}`);
          else if (step.kind === 'taint') {
            const node = world.api.all(nodes)[step.which % added];
            const taints = (node?.spec?.taints ?? []).length > 0 ? [] : [{ key: 'k', effect: 'NoExecute' as const }];
            if (node !== undefined)
              world.api.change(nodes, keyOf(node), (each) => ({ ...each, spec: { ...each.spec, taints } }));
          } else {
            const pod = world.api.all(pods)[step.which % Math.max(1, world.api.all(pods).length)];
            if (pod !== undefined && step.kind === 'delete')
              await world.api.delete(pods, keyOf(pod)).catch(() => undefined);
            else if (pod !== undefined)
              world.api.change(pods, keyOf(pod), (each) => ({
                ...each,
                status: { ...each.status, phase: 'Failed' as const },
              }));
          }
          await world.run(halfSeconds * 500);
        }
        await world.run(60_000);
        const expected = world.api
          .all(nodes)
          .filter(({ spec }) => (spec?.taints ?? []).length === 0)
          .map(({ metadata }) => `${metadata.name} ${image}`)
          .toSorted();
        assert.deepEqual(where(world), expected);
        const now = status(world);
        assert.deepEqual(
          [now?.desiredNumberScheduled, now?.numberAvailable, now?.updatedNumberScheduled, now?.numberMisscheduled],
          [expected.length, expected.length, expected.length, 0],
        );
        assert.equal(revisions(world).at(-1)?.[1], image);
        await world.stop();
      },
    ),
    { numRuns: 40 },
  );
});
