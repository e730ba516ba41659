import assert from 'node:assert/strict';
import test from 'node:test';
import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Scale } from '../../../api/autoscaling/scale.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx:1.27' }] },
};
const spec = { selector: { matchLabels: { app: 'web' } }, template };
const deployments = new RulesFixture<Deployment>('apps/v1', 'Deployment', { spec });
const sets = new RulesFixture<ReplicaSet>('apps/v1', 'ReplicaSet', { spec });
const daemons = new RulesFixture<DaemonSet>('apps/v1', 'DaemonSet', { spec });
const revisions = new RulesFixture<ControllerRevision>('apps/v1', 'ControllerRevision', {
  data: { spec: {} },
  revision: 3,
});

test('a deployment gets the strategy, limits and pod fields it does not name', () => {
  const { spec: defaulted, status } = deployments.created();
  assert.deepEqual(
    {
      replicas: defaulted.replicas,
      strategy: defaulted.strategy,
      history: defaulted.revisionHistoryLimit,
      deadline: defaulted.progressDeadlineSeconds,
      status,
    },
    {
      replicas: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      history: 10,
      deadline: 600,
      status: {},
    },
  );
  const { containers, restartPolicy, schedulerName, enableServiceLinks } = defaulted.template.spec;
  assert.deepEqual(
    [restartPolicy, schedulerName, containers[0]?.imagePullPolicy, containers[0]?.terminationMessagePath],
    ['Always', 'default-scheduler', 'IfNotPresent', '/dev/termination-log'],
  );
  // Pods get it when they are made.
  assert.equal(enableServiceLinks, undefined);
  assert.deepEqual(deployments.defaulted({ 'spec.strategy': { type: 'Recreate' } }).spec.strategy, {
    type: 'Recreate',
  });
});

test('a valid deployment, replica set, daemon set and revision are accepted', () => {
  assert.deepEqual(
    [deployments.refusals(), sets.refusals(), daemons.refusals(), revisions.refusals()],
    [[], [], [], []],
  );
  assert.deepEqual(
    [
      deployments.updateRefusals({ 'spec.replicas': 3 }),
      sets.updateRefusals({ 'spec.replicas': 0 }),
      daemons.updateRefusals({ 'spec.minReadySeconds': 3 }),
    ],
    [[], [], []],
  );
});

test('an invalid Deployment gets upstream’s error messages', () => {
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{ 'spec.replicas': -1 }, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0']],
    [
      { 'spec.selector': undefined },
      [
        'spec.selector: Required value',
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
      ],
    ],
    [
      { 'spec.selector': { matchLabels: {} } },
      ['spec.selector: Invalid value: {"matchLabels":{}}: empty selector is invalid for deployment'],
    ],
    [
      { 'spec.selector': { matchLabels: { app: 'other' } } },
      ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
    ],
    [
      { 'spec.selector': { matchExpressions: [{ key: 'app', operator: 'In' }] } },
      [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"In"}]}: invalid label selector',
      ],
    ],
    [
      { 'spec.template.spec.restartPolicy': 'Never' },
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      { 'spec.template.spec.activeDeadlineSeconds': 5 },
      ['spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported'],
    ],
    [{ 'spec.template.spec.containers': [] }, ['spec.template.spec.containers: Required value']],
    [
      { 'spec.template.metadata.labels.x': '-' },
      [
        "spec.template.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ],
    ],
    [
      { 'spec.template.spec.ephemeralContainers': [{ name: 'debug', image: 'busybox' }] },
      ['spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template'],
    ],
    [
      { 'spec.strategy': { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      { 'spec.strategy': { type: 'Sometimes' } },
      [
        'spec.strategy: Unsupported value: {"Type":"Sometimes","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
    [
      { 'spec.strategy.rollingUpdate': { maxUnavailable: 0, maxSurge: '0%' } },
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
    ],
    [
      { 'spec.strategy.rollingUpdate': { maxUnavailable: '101%' } },
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      { 'spec.strategy.rollingUpdate': { maxSurge: 'many' } },
      [
        "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"many\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ],
    ],
    [
      { 'spec.minReadySeconds': 600 },
      ['spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds'],
    ],
    [
      { 'metadata.name': 'Web' },
      [
        "metadata.name: Invalid value: \"Web\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
  ];
  assert.deepEqual(
    cases.map(([changes]) => deployments.refusals(changes)),
    cases.map(([, expected]) => expected),
  );
});

test('a selector never changes', () => {
  const changes = {
    'spec.selector': { matchLabels: { app: 'web', tier: 'a' } },
    'spec.template.metadata.labels': { app: 'web', tier: 'a' },
  };
  const expected = ['spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"a"}}: field is immutable'];
  assert.deepEqual(
    [deployments.updateRefusals(changes), sets.updateRefusals(changes), daemons.updateRefusals(changes)],
    [expected, expected, expected],
  );
});

test('counts of a status are within the whole', () => {
  assert.deepEqual(
    deployments.statusRefusals({ replicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3 }),
    [
      'status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ],
  );
  assert.deepEqual(sets.statusRefusals({ replicas: 0, fullyLabeledReplicas: 1 }), [
    'status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than status.replicas',
  ]);
  const counts = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: -2 };
  assert.deepEqual(daemons.statusRefusals(counts, { ...counts, collisionCount: 2 }), [
    'status.numberReady: Invalid value: -2: must be greater than or equal to 0',
    'status.collisionCount: Invalid value: 0: cannot be decremented',
  ]);
  assert.deepEqual(deployments.statusRefusals({ collisionCount: 1 }, { collisionCount: 2 }), [
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  ]);
  assert.deepEqual(
    deployments.statusRefusals({ replicas: 2, readyReplicas: 2, collisionCount: 2 }, { collisionCount: 1 }),
    [],
  );
});

test('a daemon set surges or goes without, not both and not neither', () => {
  const at = 'spec.updateStrategy.rollingUpdate';
  assert.deepEqual(daemons.refusals({ [at]: { maxUnavailable: 1, maxSurge: 1 } }), [
    `${at}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`,
  ]);
  assert.deepEqual(daemons.refusals({ [at]: { maxUnavailable: 0 } }), [
    `${at}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
  ]);
  assert.deepEqual(daemons.refusals({ 'spec.updateStrategy': { type: 'OnDelete' } }), []);
  assert.deepEqual(daemons.refusals({ 'spec.selector': undefined }), [
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ]);
  assert.deepEqual(daemons.refusals({ 'spec.selector': { matchLabels: {} } }), [
    'spec.selector: Invalid value: {"matchLabels":{}}: empty selector is invalid for daemonset',
  ]);
});

test('the generation of a daemon set template is counted in an annotation', () => {
  const annotation = 'deprecated.daemonset.template.generation';
  assert.equal(daemons.created().metadata.annotations?.[annotation], '1');
  assert.equal(
    daemons.updated({ 'spec.template.spec.containers[0].image': 'nginx:1.28' }).metadata.annotations?.[annotation],
    '2',
  );
  assert.equal(daemons.updated({ 'spec.minReadySeconds': 5 }).metadata.annotations?.[annotation], '1');
});

test('a revision holds an object, which never changes', () => {
  assert.deepEqual(revisions.refusals({ data: undefined }), ['data: Required value: data is mandatory']);
  assert.deepEqual(revisions.refusals({ data: [1] }), ['data: Required value: data must be a valid JSON object']);
  assert.deepEqual(revisions.refusals({ revision: -1 }), [
    'revision: Invalid value: -1: must be greater than or equal to 0',
  ]);
  assert.deepEqual(revisions.updateRefusals({ data: { spec: { a: 1 } } }), [
    'data: Invalid value: {"spec":{"a":1}}: field is immutable',
  ]);
  assert.deepEqual(revisions.updateRefusals({ revision: 4 }), []);
});

test('tables show how far they are', () => {
  const status = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 };
  const wide = { Age: '60m', Containers: 'main', Images: 'nginx:1.27', Selector: 'app=web' };
  assert.deepEqual(deployments.cells({ 'spec.replicas': 3, status }), {
    Ready: '2/3',
    'Up-to-date': 1,
    Available: 2,
    ...wide,
  });
  assert.deepEqual(sets.cells({ 'spec.replicas': 4, status: { replicas: 3, readyReplicas: 2 } }), {
    Desired: 4,
    Current: 3,
    Ready: 2,
    ...wide,
  });
  assert.deepEqual(
    daemons.cells({
      status: {
        currentNumberScheduled: 1,
        numberMisscheduled: 0,
        desiredNumberScheduled: 2,
        numberReady: 1,
        updatedNumberScheduled: 1,
        numberAvailable: 1,
      },
    }),
    {
      Desired: 2,
      Current: 1,
      Ready: 1,
      'Up-to-date': 1,
      Available: 1,
      'Node Selector': '<none>',
      ...wide,
    },
  );
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'u', controller: true };
  assert.deepEqual(revisions.cells({ 'metadata.ownerReferences': [owner] }), {
    Controller: 'daemonset.apps/agent',
    Revision: 3,
  });
  assert.equal(revisions.cells()['Controller'], '<none>');
});

test('names that cannot be hostnames, and doubtful fields of the template, cause warnings', () => {
  assert.deepEqual(deployments.warnings(), []);
  assert.deepEqual(
    deployments.warnings({
      'metadata.name': 'a.b',
      'spec.template.spec.nodeSelector': { 'beta.kubernetes.io/os': 'linux' },
    }),
    [
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
      'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  );
});

test('scale shows and sets the number of replicas alone', () => {
  const [view] = deployments.definition.views ?? [];
  const deployment = deployments.created({
    'spec.replicas': 3,
    'metadata.labels': { a: 'b' },
    'metadata.resourceVersion': '7',
  });
  const scale = view?.read?.({ ...deployment, status: { replicas: 2 } } as Deployment) as Scale;
  assert.deepEqual(scale, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'uid-1',
      resourceVersion: '7',
      creationTimestamp: '2026-01-01T11:00:00Z',
    },
    spec: { replicas: 3 },
    status: { replicas: 2, selector: 'app=web' },
  });
  const request = { user: { name: 'tester', groups: [] }, nowMs: 0 };
  const none = { ...deployment, spec: { ...deployment.spec, replicas: 0 }, status: { replicas: 0 } } as Deployment;
  const empty = view?.read?.(none) as Scale;
  assert.deepEqual([empty.spec, empty.status?.replicas], [{}, 0]);
  const scaled = view?.write(deployment, { ...scale, spec: { replicas: 5 } } as Scale, request) as Deployment;
  assert.deepEqual(scaled, { ...deployment, spec: { ...deployment.spec, replicas: 5 } });
  assert.throws(
    () => view?.write(deployment, { ...scale, spec: { replicas: -1 } } as Scale, request),
    (error) =>
      error instanceof ApiStatusError &&
      error.message ===
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  );
});

test('annotations of a deployment count for its generation, its labels do not', () => {
  const { alsoCounts } = deployments.definition;
  const old = deployments.created();
  assert.equal(alsoCounts?.(deployments.created({ 'metadata.annotations': { a: 'b' } }), old), true);
  assert.equal(alsoCounts?.(deployments.created({ 'metadata.labels': { a: 'b' } }), old), false);
});

test('writers of a deployment status cannot change its labels', () => {
  const old = deployments.created({ 'metadata.labels': { a: 'b' } });
  const written = deployments.definition.rules.prepareForStatusUpdate?.(
    { ...old, metadata: { ...old.metadata, labels: { x: 'y' } } },
    old,
    { user: { name: 'tester', groups: [] }, nowMs: 0 },
  );
  assert.deepEqual(written?.metadata.labels, { a: 'b' });
});
