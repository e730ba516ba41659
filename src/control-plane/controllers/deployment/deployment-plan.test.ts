import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { nextRevision } from './deployment-facts.ts';
import { planDeployment } from './deployment-plan.ts';

const prefix = 'deployment.kubernetes.io/';
type Template = Deployment['spec']['template'];
const template = (image: string, labels: Record<string, string> = { app: 'web' }): Template => ({
  metadata: { labels },
  spec: buildPod({ 'spec.containers[0].image': image }).spec,
});

function aDeployment(
  replicas: number,
  spec: Partial<Deployment['spec']> = {},
  more: Partial<Deployment> & { metadata?: Deployment['metadata'] } = {},
): Deployment {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'd-1', generation: 1 },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: template('new'),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      ...spec,
    },
    ...more,
  };
}

interface SetShape {
  readonly size?: number;
  readonly available?: number;
  /** The number of pods in the set's status. The default is its size. */
  readonly pods?: number;
  readonly revision?: number;
  /** The deployment size that is annotated on the set. */
  readonly desired?: number;
  readonly most?: number;
  readonly isUnseen?: boolean;
  readonly isDeleted?: boolean;
  readonly created?: string;
}
function aSet(image: string, shape: SetShape = {}): ReplicaSet {
  const { size = 0, available = size, pods = size, revision = 1, desired, most, isUnseen = false } = shape;
  return {
    metadata: {
      name: `web-${image}`,
      namespace: 'default',
      uid: image,
      generation: 2,
      creationTimestamp: shape.created ?? (image === 'new' ? '2026-01-02T00:00:00Z' : '2026-01-01T00:00:00Z'),
      ...(shape.isDeleted === true && { deletionTimestamp: '2026-01-03T00:00:00Z' }),
      annotations: {
        [`${prefix}revision`]: String(revision),
        ...(desired !== undefined && { [`${prefix}desired-replicas`]: String(desired) }),
        ...(most !== undefined && { [`${prefix}max-replicas`]: String(most) }),
      },
    },
    spec: {
      replicas: size,
      selector: { matchLabels: { app: 'web' } },
      template: template(image, { app: 'web', 'pod-template-hash': image }),
      minReadySeconds: 0,
    },
    status: { replicas: pods, availableReplicas: available, observedGeneration: isUnseen ? 1 : 2 },
  };
}

/** Formats the steps: `new 0->2` for another size, `create 3`, `delete old`, `note new` for annotations alone. */
function stepsOf(deployment: Deployment, sets: readonly ReplicaSet[], oldPodsRunning = false): string[] {
  return planDeployment(deployment, sets, oldPodsRunning).steps.map((step) => {
    if (step.kind === 'create') return `create ${step.set.spec.replicas}`;
    if (step.kind === 'delete') return `delete ${step.set.metadata.uid}`;
    const [was, is] = [step.before.spec.replicas, step.set.spec.replicas];
    return was === is ? `note ${step.set.metadata.uid}` : `${step.set.metadata.uid} ${was}->${is}`;
  });
}
const newest = (shape: SetShape): ReplicaSet => aSet('new', { revision: 2, ...shape });

describe('a rollout', () => {
  it('begins with a new set that is no larger than the surge allows', () => {
    assert.deepEqual(stepsOf(aDeployment(3), []), ['create 3']);
    assert.deepEqual(stepsOf(aDeployment(3), [aSet('old', { size: 3, desired: 3 })]), ['create 1']);
    assert.deepEqual(stepsOf(aDeployment(3), [aSet('old', { size: 9, desired: 3 })]), ['create 0', 'old 9->3']);
    assert.deepEqual(stepsOf(aDeployment(3), [aSet('old', { size: 1, desired: 3 })]), ['create 3']);
  });

  it('scales up the new set within the surge before old ones are scaled down', () => {
    const sets = [newest({ size: 1, desired: 4 }), aSet('old', { size: 3, desired: 4 })];
    assert.deepEqual(stepsOf(aDeployment(4), sets), ['new 1->2']);
    const full = [newest({ size: 2, desired: 4, available: 1 }), aSet('old', { size: 3, desired: 4 })];
    assert.deepEqual(stepsOf(aDeployment(4), full), [], 'no more than five in all, and four must be available');
  });

  it('deletes old pods above the minimum of available pods, from the oldest sets first', () => {
    const sets = [
      newest({ size: 2, desired: 4 }),
      aSet('a', { size: 1, desired: 4, created: '2026-01-01T00:00:00Z' }),
      aSet('b', { size: 2, desired: 4, created: '2026-01-01T00:00:01Z' }),
    ];
    assert.deepEqual(stepsOf(aDeployment(4), sets), ['a 1->0']);
    const loose = aDeployment(4, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    });
    assert.deepEqual(stepsOf(loose, sets), ['a 1->0', 'b 2->1']);
  });

  it('deletes unavailable pods first', () => {
    const sets = [
      newest({ size: 2, desired: 4 }),
      aSet('a', { size: 2, desired: 4, created: '2026-01-01T00:00:00Z' }),
      aSet('b', { size: 2, available: 0, desired: 4, created: '2026-01-01T00:00:01Z' }),
    ];
    assert.deepEqual(stepsOf(aDeployment(4), sets), ['b 2->0']);
  });

  it('deletes nothing while the new set makes no progress, or while a size is not observed yet', () => {
    const stuck = [newest({ size: 1, available: 0, desired: 3 }), aSet('old', { size: 3, desired: 3 })];
    assert.deepEqual(stepsOf(aDeployment(3), stuck), []);
    const works = [newest({ size: 1, desired: 3 }), aSet('old', { size: 3, desired: 3 })];
    assert.deepEqual(stepsOf(aDeployment(3), works), ['old 3->2']);
    const [first, second] = [newest({ size: 1, desired: 3, isUnseen: true }), aSet('old', { size: 3, desired: 3 })];
    assert.deepEqual(stepsOf(aDeployment(3), [first, second]), []);
  });

  it('scales down the new set if it has too many pods', () => {
    assert.deepEqual(stepsOf(aDeployment(3), [newest({ size: 5, desired: 3 })]), ['new 5->3']);
  });

  it('gives the new set the revision after the newest old one', () => {
    const [create] = planDeployment(
      aDeployment(1),
      [aSet('a', { revision: 4 }), aSet('b', { revision: 7 })],
      false,
    ).steps;
    assert.equal(create?.set.metadata.annotations?.[`${prefix}revision`], '8');
    const again = planDeployment(aDeployment(0), [aSet('new', { revision: 1 }), aSet('b', { revision: 7 })], false);
    assert.equal(again.steps[0]?.set.metadata.annotations?.[`${prefix}revision`], '8');
    assert.equal(again.newSet?.metadata.uid, 'new');
  });
});

describe('a deployment that recreates its pods', () => {
  const deployment = aDeployment(3, { strategy: { type: 'Recreate' } });

  it('scales down the old sets, waits until the last pod has ended, and then starts', () => {
    const old = aSet('old', { size: 3, desired: 3 });
    assert.deepEqual(stepsOf(deployment, [old], true), ['old 3->0']);
    const empty = aSet('old', {});
    assert.deepEqual(stepsOf(deployment, [empty], true), []);
    assert.deepEqual(stepsOf(deployment, [empty]), ['create 3']);
    assert.deepEqual(stepsOf(deployment, [newest({ size: 0 }), empty]), ['new 0->3']);
  });
});

describe('scaling', () => {
  const sized = (replicas: number, spec: Partial<Deployment['spec']> = {}): Deployment =>
    aDeployment(replicas, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      ...spec,
    });

  it('gives a single active set all replicas, and evaluates no progress', () => {
    const set = newest({ size: 3, desired: 3 });
    assert.deepEqual(stepsOf(sized(5), [set]), ['new 3->5']);
    assert.equal(planDeployment(sized(5), [set], false).judgesProgress, false);
    assert.equal(planDeployment(sized(3), [set], false).judgesProgress, true);
    const old = aSet('old', { size: 3, desired: 3 });
    assert.deepEqual(stepsOf(sized(5), [old]), ['old 3->5']);
  });

  it('distributes added or removed replicas over the active sets by their sizes', () => {
    const sets = [newest({ size: 4, desired: 10, most: 10 }), aSet('old', { size: 6, desired: 10, most: 10 })];
    assert.deepEqual(stepsOf(sized(20), sets).sort(), ['new 4->8', 'old 6->12']);
    assert.deepEqual(stepsOf(sized(5), sets).sort(), ['new 4->2', 'old 6->3']);
    assert.deepEqual(stepsOf(sized(0), sets).sort(), ['new 4->0', 'old 6->0']);
  });

  it('scales old sets to zero once the new one has all desired replicas', () => {
    const sets = [newest({ size: 5, desired: 5 }), aSet('old', { size: 2, desired: 4 })];
    assert.deepEqual(stepsOf(sized(5), sets), ['old 2->0']);
    const lacking = [
      newest({ size: 5, available: 4, desired: 5, most: 5 }),
      aSet('old', { size: 2, desired: 4, most: 4 }),
    ];
    assert.notDeepEqual(stepsOf(sized(5), lacking), ['old 2->0']);
  });

  it('is annotated even on sets that keep their size, because otherwise it would never be complete', () => {
    const paused = sized(3, { paused: true });
    assert.deepEqual(stepsOf(paused, [newest({ size: 3, desired: 2 })]), ['note new']);
    const recreate = aDeployment(6, { strategy: { type: 'Recreate' } });
    const sets = [newest({ size: 2, desired: 4 }), aSet('old', { size: 2, desired: 4 })];
    assert.deepEqual(stepsOf(recreate, sets).sort(), ['note new', 'note old']);
  });

  it('happens while the deployment is paused, without a rollout', () => {
    const paused = sized(4, { paused: true });
    assert.deepEqual(stepsOf(paused, [aSet('old', { size: 3, desired: 3 })]), ['old 3->4']);
    assert.deepEqual(stepsOf(paused, []), []);
    assert.equal(planDeployment(paused, [], false).judgesProgress, false);
  });

  it('ignores inactive sets', () => {
    assert.deepEqual(stepsOf(sized(3), [newest({ size: 3, desired: 3, most: 3 }), aSet('old', { desired: 9 })]), []);
  });
});

describe('cleaning up', () => {
  const status = { updatedReplicas: 1, replicas: 1, availableReplicas: 1, observedGeneration: 1 };
  const done = (revisionHistoryLimit?: number, more: Partial<Deployment> = {}): Deployment =>
    aDeployment(1, revisionHistoryLimit === undefined ? {} : { revisionHistoryLimit }, { status, ...more });
  const live = newest({ size: 1, desired: 1, most: 2, revision: 9 });
  const [one, two, three] = [1, 2, 3].map((revision) => aSet(`r${revision}`, { revision })) as [
    ReplicaSet,
    ReplicaSet,
    ReplicaSet,
  ];

  it('deletes old sets without pods beyond the history, the oldest revisions first', () => {
    assert.deepEqual(stepsOf(done(1), [three, live, one, two]).sort(), ['delete r1', 'delete r2']);
    assert.deepEqual(stepsOf(done(0), [one, live]), ['delete r1']);
    assert.deepEqual(stepsOf(done(3), [three, live, one, two]), []);
    assert.deepEqual(stepsOf(done(), [three, live, one, two]), [], 'without a limit all stay');
  });

  it('waits until the rollout is complete', () => {
    for (const part of [{ updatedReplicas: 0 }, { replicas: 2 }, { availableReplicas: 0 }, { observedGeneration: 0 }])
      assert.deepEqual(stepsOf(done(0, { status: { ...status, ...part } }), [one, live]), [], JSON.stringify(part));
    assert.deepEqual(stepsOf(done(0, { status }), [one, live]), ['delete r1']);
  });

  it('keeps sets that have pods, are being deleted, or are not yet observed to be empty', () => {
    for (const shape of [{ pods: 1 }, { isDeleted: true }, { isUnseen: true }])
      assert.deepEqual(stepsOf(done(0), [aSet('r1', shape), live]), [], JSON.stringify(shape));
  });

  it('happens while the deployment is paused, and with the strategy Recreate', () => {
    const paused = aDeployment(1, { paused: true, revisionHistoryLimit: 0 });
    assert.deepEqual(stepsOf(paused, [one, live]), ['delete r1']);
    const recreate = aDeployment(1, { strategy: { type: 'Recreate' }, revisionHistoryLimit: 0 }, { status });
    assert.deepEqual(stepsOf(recreate, [one, newest({ size: 1, desired: 1, most: 1, revision: 9 })]), ['delete r1']);
  });
});

describe('a deployment that is deleted', () => {
  it('has no further steps', () => {
    const metadata = { ...aDeployment(1).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const plan = planDeployment(aDeployment(3, {}, { metadata }), [], false);
    assert.deepEqual([plan.steps, plan.judgesProgress, plan.newSet], [[], false, undefined]);
  });
});

describe('one step at a time', () => {
  const loose = (replicas: number, more: Partial<Deployment['spec']> = {}): Deployment =>
    aDeployment(replicas, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      ...more,
    });
  const status = { updatedReplicas: 4, replicas: 4, availableReplicas: 4, observedGeneration: 1 };

  it('deletes no old pods in the step that scales up the new set', () => {
    const sets = [newest({ size: 1, desired: 4 }), aSet('old', { size: 3, desired: 4 })];
    assert.deepEqual(stepsOf(loose(4), sets), ['new 1->2']);
  });

  it('scales down unavailable replicas of old sets only as far as the new set is available', () => {
    const sets = [newest({ size: 1, available: 0, desired: 3 }), aSet('old', { size: 3, available: 0, desired: 3 })];
    assert.deepEqual(stepsOf(aDeployment(3), sets), []);
    const several = [
      newest({ size: 2, desired: 4 }),
      aSet('a', { size: 2, available: 1, desired: 4, created: '2026-01-01T00:00:00Z' }),
      aSet('b', { size: 1, available: 0, desired: 4, created: '2026-01-01T00:00:01Z' }),
    ];
    assert.deepEqual(stepsOf(aDeployment(4), several), ['a 2->1']);
  });

  it('deletes old sets only in a step that scales no set down', () => {
    const empty = aSet('empty');
    const done = aDeployment(4, { revisionHistoryLimit: 1 }, { status });
    const shrinking = [newest({ size: 4, desired: 4 }), aSet('old', { size: 1, desired: 4 }), empty];
    assert.deepEqual(stepsOf(done, shrinking), ['old 1->0']);
    const broken = [newest({ size: 4, desired: 4 }), aSet('old', { size: 2, available: 0, desired: 4 }), empty];
    assert.deepEqual(stepsOf(done, broken), ['old 2->0']);
    const stuck = [newest({ size: 4, available: 3, desired: 4 }), aSet('old', { size: 1, desired: 4 }), empty];
    assert.deepEqual(stepsOf(done, stuck), ['delete empty']);
  });

  it('creates no new pods in the step in which Recreate scales down the old sets', () => {
    const recreate = aDeployment(3, { strategy: { type: 'Recreate' }, revisionHistoryLimit: 0 });
    assert.deepEqual(stepsOf(recreate, [aSet('old', { size: 3, desired: 3 })], false), ['old 3->0']);
    assert.deepEqual(stepsOf(recreate, [newest({ size: 3, desired: 3 }), aSet('old')]), [], 'it is not over yet');
  });
});

describe('which sets are scaled', () => {
  const paused = (replicas: number): Deployment => aDeployment(replicas, { paused: true });

  it('the new set is scaled if none is active, else the newest old one', () => {
    assert.deepEqual(stepsOf(paused(4), [newest({}), aSet('old')]), ['new 0->4']);
    const [a, b] = [aSet('a', { created: '2026-01-01T00:00:00Z' }), aSet('b', { created: '2026-01-01T00:00:01Z' })];
    assert.deepEqual(stepsOf(paused(4), [b, a]), ['b 0->4']);
  });

  it('the only active set is scaled, also with the strategy Recreate', () => {
    const recreate = aDeployment(5, { strategy: { type: 'Recreate' } });
    assert.deepEqual(stepsOf(recreate, [newest({ size: 3, desired: 3 }), aSet('old')]), ['new 3->5']);
  });

  it('all active sets are scaled, even without a new one', () => {
    const sets = [aSet('a', { size: 2, desired: 4, most: 4 }), aSet('b', { size: 2, desired: 4, most: 4 })];
    const wider = aDeployment(8, {
      paused: true,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
    assert.deepEqual(stepsOf(wider, sets).sort(), ['a 2->4', 'b 2->4']);
  });

  it('inactive sets and sets without a size annotation do not decide which set is scaled', () => {
    const strict = aDeployment(3);
    const judged = (set: ReplicaSet): boolean =>
      planDeployment(strict, [newest({ size: 3, desired: 3 }), set], false).judgesProgress;
    assert.deepEqual(
      [
        judged(aSet('old', { desired: 9 })),
        judged(aSet('old', { size: 1 })),
        judged(aSet('old', { size: 1, desired: 9 })),
      ],
      [true, true, false],
    );
    const bare = aSet('old', { size: 1 });
    const { annotations: _, ...metadata } = bare.metadata;
    assert.equal(judged({ ...bare, metadata }), true);
  });

  it('old sets are not scaled to zero for a new one that was sized for another number', () => {
    const strict = aDeployment(5, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
    const steps = stepsOf(strict, [newest({ size: 5, desired: 4 }), aSet('old', { size: 2, desired: 4 })]);
    assert.equal(steps.includes('old 2->0'), false);
  });

  it('the history is limited by revision, and by age for equal revisions', () => {
    const status = { updatedReplicas: 1, replicas: 1, availableReplicas: 1, observedGeneration: 1 };
    const done = aDeployment(1, { revisionHistoryLimit: 1 }, { status });
    const live = newest({ size: 1, desired: 1, most: 2, revision: 9 });
    const aged = (name: string, revision: number, second: number): ReplicaSet =>
      aSet(name, { revision, created: `2026-01-01T00:00:0${second}Z` });
    const turned = [aged('r3', 3, 0), aged('r2', 2, 1), aged('r1', 1, 2), live];
    assert.deepEqual(stepsOf(done, turned).sort(), ['delete r1', 'delete r2']);
    const equals = [aged('young', 1, 5), aged('old', 1, 1), live];
    assert.deepEqual(stepsOf(done, equals), ['delete old']);
  });
});

describe('revisions', () => {
  it('are int64s, and any value that a user sets is incremented exactly', () => {
    const [small, large] = [aSet('small', { revision: 3 }), aSet('large', {})];
    const set = (revision: string): ReplicaSet => ({
      ...large,
      metadata: {
        ...large.metadata,
        annotations: { ...large.metadata.annotations, 'deployment.kubernetes.io/revision': revision },
      },
    });
    assert.equal(nextRevision([small, set('3546343826724305832')]), 3546343826724305833n);
    assert.equal(nextRevision([set('9223372036854775807')]), 9223372036854775807n);
    for (const none of ['', 'x', '1e3', '9223372036854775808', '9'.repeat(400)])
      assert.equal(nextRevision([set(none), small]), 4n, none);
  });
});
