import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { deployments, pods, replicaSets } from '../../../api/client/resource-types.ts';
import { forbidden } from '../../../api/status/api-status-error.ts';
import { controllerRefOf, newControllerRef } from '../../controller-runtime/controller-ref.ts';
import { createDeploymentController } from './deployment-controller.ts';
import { revisionOf } from './deployment-facts.ts';
import {
  revision,
  template,
  build,
  startsSlowly,
  setUp,
  change,
  roll,
  current,
  setOf,
  condition,
  scalings,
  sizes,
} from './testing/deployment-world.ts';

describe('a new deployment', () => {
  it('gets a replica set with the hash in name, labels and selector, and reports its progress', async () => {
    const world = await setUp({
      ...build(3, { minReadySeconds: 0 }),
      metadata: {
        ...build(3).metadata,
        annotations: { note: 'x', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      },
    });
    await world.run(1_000);
    const set = setOf(world, 'v1') as ReplicaSet;
    const hash = set.metadata.labels?.['pod-template-hash'] ?? '';
    assert.deepEqual(
      [set.metadata.name, set.spec.selector.matchLabels, set.spec.template.metadata.labels],
      [`web-${hash}`, { app: 'web', 'pod-template-hash': hash }, { app: 'web', 'pod-template-hash': hash }],
    );
    assert.deepEqual(set.metadata.annotations, {
      note: 'x',
      [revision]: '1',
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
    });
    assert.equal(controllerRefOf(set)?.uid, 'd-1');
    assert.equal(current(world).metadata.annotations?.[revision], '1');
    assert.equal(
      condition(world, 'Available'),
      'False MinimumReplicasUnavailable Deployment does not have minimum availability.',
    );
    await world.run(4_000);
    assert.deepEqual(scalings(world), ['up from 0 to 3']);
    const { conditions: _conditions, ...numbers } = current(world).status ?? {};
    assert.deepEqual(numbers, {
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      unavailableReplicas: 0,
      terminatingReplicas: 0,
    });
    assert.equal(condition(world, 'Available'), 'True MinimumReplicasAvailable Deployment has minimum availability.');
    assert.equal(
      condition(world, 'Progressing'),
      `True NewReplicaSetAvailable ReplicaSet "${set.metadata.name}" has successfully progressed.`,
    );
    const { length } = world.api.writes;
    await world.run(700_000);
    assert.equal(world.api.writes.length, length);
    await world.stop();
    assert.equal(world.clock.armedTimers, 0);
  });

  it('a deployment that selects everything is rejected with an event', async () => {
    const world = await setUp(build(1, { selector: {} }));
    await world.run(1_000);
    assert.deepEqual(world.events, [
      'Warning SelectingAll This deployment is selecting all pods. A non-empty selector is required.',
    ]);
    assert.deepEqual([world.api.all(replicaSets).length, current(world).status?.observedGeneration], [0, 1]);
    await world.stop();
  });

  it('adopts a matching set without an owner, and treats one of another template as old', async () => {
    const world = await setUp(build(2));
    const loose = (image: string): ReplicaSet => ({
      metadata: { name: `loose-${image}`, namespace: 'default', uid: `loose-${image}`, labels: { app: 'web' } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web', x: image } },
        template: { ...template(image), metadata: { labels: { app: 'web', x: image } } },
      },
    });
    await world.run(3_000);
    world.api.seed(replicaSets, loose('v0'));
    await world.run(8_000);
    assert.deepEqual([controllerRefOf(setOf(world, 'v0') as ReplicaSet)?.uid, sizes(world)], ['d-1', { v1: 2, v0: 0 }]);
    await world.stop();
  });

  it('reports why its set cannot be created, and creates it as soon as possible', async () => {
    const world = await setUp(build(0), { make: (each) => [createDeploymentController(each)] });
    await world.run(500);
    const end = world.api.script(({ verb, plural }) =>
      verb === 'create' && plural === 'replicasets'
        ? forbidden({ group: 'apps', plural: 'replicasets' }, 'x', 'exceeded quota')
        : undefined,
    );
    roll(world, 'v2');
    await world.run(1_000);
    assert.match(
      condition(world, 'Progressing'),
      /^False ReplicaSetCreateError Failed to create new replica set "web-\w+": replicasets.apps "x" is forbidden: exceeded quota$/,
    );
    end();
    await world.run(5_000);
    assert.ok(setOf(world, 'v2') !== undefined);
    await world.stop();
  });

  it('a new replica set is created once, however late the watch shows it', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const world = await setUp(build(3), { seed, lagMs: 3_000 });
      await world.run(20_000);
      roll(world, 'v2');
      await world.run(60_000);
      const tried = world.api.writes.filter((each) => each.startsWith('create replicasets'));
      assert.equal(tried.length, 2, `seed ${seed}`);
      await world.stop();
    }
  });

  it('uses another name if two templates have the same hash', async () => {
    const world = await setUp(build(1));
    await world.run(3_000);
    const first = setOf(world, 'v1') as ReplicaSet;
    world.api.change(replicaSets, keyOf(first), (set) => ({
      ...set,
      spec: { ...set.spec, template: template('foreign') },
    }));
    await world.run(6_000);
    const made = setOf(world, 'v1') as ReplicaSet;
    assert.deepEqual(
      [made.metadata.name === first.metadata.name, current(world).status?.collisionCount, sizes(world)],
      [false, 1, { foreign: 0, v1: 1 }],
    );
    await world.stop();
  });
});

describe('a rolling update', () => {
  it('proceeds within maxSurge and maxUnavailable, and ends with only the new set', async () => {
    const world = await setUp(build(4));
    await world.run(4_000);
    roll(world, 'v2');
    await world.run(15_000);
    assert.deepEqual(sizes(world), { v1: 0, v2: 4 });
    assert.deepEqual(scalings(world).slice(1, 4), ['up from 0 to 1', 'down from 4 to 3', 'up from 1 to 2']);
    assert.deepEqual(
      [setOf(world, 'v1'), setOf(world, 'v2')].map((set) => revisionOf(set as ReplicaSet)),
      [1n, 2n],
    );
    assert.equal(current(world).metadata.annotations?.[revision], '2');
    await world.stop();
  });

  it('back to an old template makes that set the newest revision, and keeps the old numbers', async () => {
    const world = await setUp(build(1));
    for (const image of ['v1', 'v2', 'v1', 'v2', 'v1']) {
      roll(world, image);
      await world.run(8_000);
    }
    const set = setOf(world, 'v1') as ReplicaSet;
    assert.deepEqual(
      [revisionOf(set), set.metadata.annotations?.['deployment.kubernetes.io/revision-history'], sizes(world)],
      [5n, '1,3', { v1: 1, v2: 0 }],
    );
    await world.stop();
  });

  it('that makes no progress stops within its bounds, reports a timeout, and does not block an undo', async () => {
    const world = await setUp(build(4, { progressDeadlineSeconds: 30 }));
    await world.run(4_000);
    world.outcome = (pod, ageMs) => (pod.spec.containers[0]?.image === 'broken' ? 'running' : startsSlowly(pod, ageMs));
    roll(world, 'broken');
    await world.run(20_000);
    assert.deepEqual(sizes(world), { v1: 3, broken: 2 });
    const { length } = world.api.calls;
    await world.run(5_000);
    assert.equal(world.api.calls.length, length);
    assert.match(condition(world, 'Progressing'), /^True ReplicaSetUpdated ReplicaSet "web-\w+" is progressing\.$/);
    await world.run(20_000);
    assert.match(
      condition(world, 'Progressing'),
      /^False ProgressDeadlineExceeded ReplicaSet "web-\w+" has timed out progressing\.$/,
    );
    roll(world, 'v1');
    await world.run(6_000);
    assert.deepEqual(sizes(world), { v1: 4, broken: 0 });
    assert.match(condition(world, 'Progressing'), /^True NewReplicaSetAvailable/);
    await world.stop();
  });

  it('keeps as many old sets as the history limit, and all that have pods', async () => {
    const world = await setUp(build(1, { revisionHistoryLimit: 2 }));
    for (const image of ['v1', 'v2', 'v3', 'v4', 'v5']) {
      roll(world, image);
      await world.run(8_000);
    }
    assert.deepEqual(Object.keys(sizes(world)).toSorted(), ['v3', 'v4', 'v5']);
    await world.stop();
  });

  it('waits minReadySeconds before it deletes old pods', async () => {
    const world = await setUp(build(2, { minReadySeconds: 10 }));
    await world.run(20_000);
    roll(world, 'v2');
    await world.run(9_000);
    assert.deepEqual(sizes(world), { v1: 2, v2: 1 });
    await world.run(30_000);
    assert.deepEqual([sizes(world), setOf(world, 'v2')?.spec.minReadySeconds], [{ v1: 0, v2: 2 }, 10]);
    await world.stop();
  });
});

describe('scaling', () => {
  it('during a rollout gives each set its share', async () => {
    const world = await setUp(
      build(10, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } }),
    );
    await world.run(4_000);
    world.outcome = (pod, ageMs) => (pod.spec.containers[0]?.image === 'broken' ? 'running' : startsSlowly(pod, ageMs));
    roll(world, 'broken');
    await world.run(10_000);
    assert.deepEqual(sizes(world), { v1: 8, broken: 5 });
    change(world, { replicas: 15 });
    await world.run(5_000);
    // This is the example in the documentation of Kubernetes: 10 to 15 with a surge of three gives 11 and 7.
    assert.deepEqual(sizes(world), { v1: 11, broken: 7 });
    change(world, { replicas: 0 });
    await world.run(5_000);
    assert.deepEqual([sizes(world), world.activePods.length], [{ v1: 0, broken: 0 }, 0]);
    await world.stop();
  });

  it('to the current size of the old set does not block the rollout', async () => {
    const world = await setUp(
      build(2, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } }),
    );
    await world.run(4_000);
    world.outcome = (pod, ageMs) => (pod.spec.containers[0]?.image === 'v2' ? 'running' : startsSlowly(pod, ageMs));
    const end = world.api.script(({ verb, plural }) =>
      verb === 'create' && plural === 'replicasets'
        ? forbidden({ group: 'apps', plural: 'replicasets' }, 'x', 'not now')
        : undefined,
    );
    roll(world, 'v2');
    await world.run(500);
    const old = setOf(world, 'v1') as ReplicaSet;
    world.api.change(replicaSets, keyOf(old), (set) => ({ ...set, spec: { ...set.spec, replicas: 1 } }));
    end();
    change(world, { replicas: 1 });
    world.outcome = startsSlowly;
    await world.run(10_000);
    assert.deepEqual(sizes(world), { v1: 0, v2: 1 });
    await world.stop();
  });

  it('a paused deployment is scaled but not rolled out, continues when resumed, and its deadline ignores the pause', async () => {
    const world = await setUp(build(2, { progressDeadlineSeconds: 20 }));
    await world.run(4_000);
    change(world, { paused: true, template: template('v2'), replicas: 5 });
    await world.run(60_000);
    assert.deepEqual(
      [sizes(world), condition(world, 'Progressing')],
      [{ v1: 5 }, 'Unknown DeploymentPaused Deployment is paused'],
    );
    change(world, { paused: false });
    await world.run(500);
    assert.match(
      condition(world, 'Progressing'),
      /^(Unknown DeploymentResumed|True NewReplicaSetCreated|True ReplicaSetUpdated)/,
    );
    await world.run(15_000);
    assert.deepEqual(sizes(world), { v1: 0, v2: 5 });
    await world.stop();
  });
});

it('with Recreate no new pod is created before the last old one has ended', async () => {
  const world = await setUp(build(3, { strategy: { type: 'Recreate' } }), { leavingMs: 3_000 });
  await world.run(4_000);
  world.check = () => {
    const images = new Set(world.api.all(pods).map(({ spec }) => spec.containers[0]?.image));
    assert.ok(images.size <= 1, [...images].join());
  };
  roll(world, 'v2');
  await world.run(12_000);
  assert.deepEqual([sizes(world), world.activePods.length], [{ v1: 0, v2: 3 }, 3]);
  await world.stop();
});

it('a failure of the new set to create pods is reported by the deployment', async () => {
  const world = await setUp(build(2));
  await world.run(3_000);
  const set = setOf(world, 'v1') as ReplicaSet;
  const failure = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'quota',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  } as const;
  world.api.change(replicaSets, keyOf(set), (each) => ({
    ...each,
    status: { replicas: 2, ...each.status, conditions: [failure] },
  }));
  await world.run(500);
  assert.equal(condition(world, 'ReplicaFailure'), 'True FailedCreate quota');
  await world.stop();
});

it('a deployment that is being deleted changes only its status', async () => {
  const world = await setUp({
    ...build(2),
    metadata: { ...build(2).metadata, finalizers: ['foregroundDeletion'], deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  world.api.seed(replicaSets, {
    metadata: {
      name: 'own',
      namespace: 'default',
      uid: 'own',
      labels: { app: 'web' },
      ownerReferences: [newControllerRef(deployments, current(world))],
    },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: template('v1') },
  });
  await world.run(3_000);
  assert.deepEqual(sizes(world), { v1: 1 });
  await world.stop();
});
