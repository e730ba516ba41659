import assert from 'node:assert/strict';
import test from 'node:test';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
};
const template = {
  metadata: { labels: { app: 'db' } },
  spec: { containers: [{ name: 'main', image: 'db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
};
const spec = { serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template, volumeClaimTemplates: [claim] };
const sets = new RulesFixture<StatefulSet>('apps/v1', 'StatefulSet', { spec });

test('a stateful set gets the strategy, policies and claims it does not name', () => {
  const { spec: created, status } = sets.created();
  assert.deepEqual(
    {
      replicas: created.replicas,
      policy: created.podManagementPolicy,
      strategy: created.updateStrategy,
      history: created.revisionHistoryLimit,
      retention: created.persistentVolumeClaimRetentionPolicy,
      claim: created.volumeClaimTemplates?.[0],
      status,
    },
    {
      replicas: 1,
      policy: 'OrderedReady',
      strategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      history: 10,
      retention: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      claim: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      },
      status: { replicas: 0, availableReplicas: 0 },
    },
  );
  assert.deepEqual(sets.defaulted({ 'spec.updateStrategy': { type: 'OnDelete' } }).spec.updateStrategy, {
    type: 'OnDelete',
  });
});

test('mounts may name claims, and an invalid StatefulSet gets upstream’s error messages', () => {
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{}, []],
    [{ 'spec.replicas': -1 }, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0']],
    [
      { 'spec.podManagementPolicy': 'Random' },
      ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      { 'spec.updateStrategy': { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
      [
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
      ],
    ],
    [
      { 'spec.updateStrategy': { rollingUpdate: { partition: -1, maxUnavailable: 0 } } },
      [
        'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
        'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0',
      ],
    ],
    [
      { 'spec.updateStrategy': { rollingUpdate: { maxUnavailable: '101%' } } },
      ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      { 'spec.persistentVolumeClaimRetentionPolicy': { whenScaled: 'Keep' } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": supported values: "Retain", "Delete"',
      ],
    ],
    [
      { 'spec.volumeClaimTemplates': [{ ...claim, spec: { ...claim.spec, accessModes: [] } }] },
      ['spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required'],
    ],
    [
      { 'spec.ordinals': { start: -1 } },
      ['spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      { 'spec.template.spec.restartPolicy': 'Never' },
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      { 'spec.template.spec.activeDeadlineSeconds': 5 },
      ['spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported'],
    ],
    [
      { 'spec.selector': { matchLabels: {} } },
      ['spec.selector: Invalid value: {"matchLabels":{}}: empty selector is invalid for statefulset'],
    ],
    [
      { 'spec.selector': { matchLabels: { app: 'other' } } },
      ['spec.template.metadata.labels: Invalid value: {"app":"db"}: `selector` does not match template `labels`'],
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(sets.refusals(changes), expected, JSON.stringify(changes));
  assert.match(
    sets.refusals({ 'metadata.name': 'a.b' })[0] ?? '',
    /^metadata.name: Invalid value: "a.b": must not contain dots/,
  );
  assert.match(sets.refusals({ 'spec.serviceName': 'A' })[0] ?? '', /^spec.serviceName: Invalid value: "A"/);
});

test('an update changes what upstream lets it change', () => {
  const allowed = {
    'spec.replicas': 3,
    'spec.minReadySeconds': 5,
    'spec.ordinals': { start: 1 },
    'spec.updateStrategy': { type: 'OnDelete' },
    'spec.revisionHistoryLimit': 2,
    'spec.persistentVolumeClaimRetentionPolicy': { whenDeleted: 'Delete' },
    'spec.template.spec.containers[0].image': 'db:2',
  };
  assert.deepEqual(sets.updateRefusals(allowed), []);
  const forbidden =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  for (const change of [{ 'spec.serviceName': 'other' }, { 'spec.podManagementPolicy': 'Parallel' }])
    assert.deepEqual(sets.updateRefusals(change), [forbidden]);
});

test('a status counts parts of the whole, and the table shows it', () => {
  const counts = { replicas: 1, readyReplicas: 2, availableReplicas: 0, collisionCount: 1 };
  assert.deepEqual(sets.statusRefusals({ ...counts, collisionCount: 0 }, counts), [
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    'status.collisionCount: Invalid value: 0: cannot be decremented',
  ]);
  const cells = sets.cells({ 'spec.replicas': 3, 'status.readyReplicas': 2 });
  assert.deepEqual([cells['Ready'], cells['Images']], ['2/3', 'db:1']);
  assert.deepEqual(sets.warnings({ 'spec.revisionHistoryLimit': -1 }), [
    'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
  ]);
});
