// What the API server fills in, per kind, here of workloads: the sparsest object that a client may write, and one whose fields
// are all set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultDaemonSet, defaultDeployment, defaultReplicaSet } from './default-apps.ts';
import { defaultCronJob } from './default-cron-job.ts';
import { defaultJob } from './default-job.ts';
import { defaultReplicationController, defaultStoredPodTemplate } from './default-replication-controller.ts';
import { defaultStatefulSet } from './default-stateful-set.ts';
import { defaultsOf, specs, sparse, template } from './testing/sparse-objects.ts';

test('Deployments, ReplicaSets and DaemonSets roll out a quarter of their pods at a time, or one', () => {
  const [deployment, set, daemons] = [specs(defaultDeployment), specs(defaultReplicaSet), specs(defaultDaemonSet)];
  const kept = { revisionHistoryLimit: 10, template };
  assert.deepEqual(
    [
      deployment({ template: sparse }),
      deployment({
        template: sparse,
        replicas: 0,
        strategy: { type: '', rollingUpdate: { maxSurge: 0 } },
        revisionHistoryLimit: 0,
        progressDeadlineSeconds: 0,
      }),
      deployment({ template: sparse, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } } }),
      deployment({ template: sparse, strategy: { type: 'Recreate' } }),
      set({ template: sparse }),
      set({ template: sparse, replicas: 0 }),
      daemons({ template: sparse }),
      daemons({ template: sparse, updateStrategy: { type: '', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } } }),
      daemons({ template: sparse, updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 0 }),
    ],
    [
      {
        ...kept,
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
        progressDeadlineSeconds: 600,
      },
      {
        template,
        replicas: 0,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } },
        revisionHistoryLimit: 0,
        progressDeadlineSeconds: 0,
      },
      {
        ...kept,
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
        progressDeadlineSeconds: 600,
      },
      { ...kept, replicas: 1, strategy: { type: 'Recreate' }, progressDeadlineSeconds: 600 },
      { replicas: 1, template },
      { replicas: 0, template },
      { ...kept, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } },
      { ...kept, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } } },
      { ...kept, updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 0 },
    ],
  );
});

test('only a StatefulSet whose strategy has no type gets parameters of its rolling update', () => {
  const of = specs(defaultStatefulSet);
  const usual = {
    replicas: 1,
    template,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  };
  const claimed = { metadata: { name: 'data', namespace: '', uid: '' }, spec: {} };
  assert.deepEqual(
    [
      of({ template: sparse }),
      of({ template: sparse, updateStrategy: { type: '', rollingUpdate: { partition: 2, maxUnavailable: 1 } } }),
      of({ template: sparse, updateStrategy: { type: 'RollingUpdate' } }),
      of({ template: sparse, updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } }),
      of({
        template: sparse,
        replicas: 0,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'OnDelete' },
        revisionHistoryLimit: 0,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        volumeClaimTemplates: [claimed],
      }),
    ],
    [
      usual,
      { ...usual, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2, maxUnavailable: 1 } } },
      { ...usual, updateStrategy: { type: 'RollingUpdate' } },
      usual,
      {
        replicas: 0,
        template,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'OnDelete' },
        revisionHistoryLimit: 0,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
        volumeClaimTemplates: [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: { name: 'data' },
            spec: { volumeMode: 'Filesystem' },
            status: { phase: 'Pending' },
          },
        ],
      },
    ],
  );
  const placed = { metadata: { name: 'data', namespace: 'n', uid: 'u' }, spec: {} };
  const { volumeClaimTemplates } = of({ template: sparse, volumeClaimTemplates: [placed] }) as {
    volumeClaimTemplates: { metadata: object }[];
  };
  assert.deepEqual(volumeClaimTemplates[0]?.metadata, placed.metadata);
});

test('a Job without counts runs one pod, and its retries and replacements follow from its policies', () => {
  const of = specs(defaultJob);
  const usual = {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
    template,
  };
  const rule = (...statuses: string[]): object => ({
    action: 'Ignore',
    onPodConditions: statuses.map((status) => ({ type: 'DisruptionTarget', status })),
  });
  const onExit = { action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } };
  const chosen = {
    completions: 3,
    parallelism: 0,
    backoffLimit: 0,
    completionMode: 'Indexed',
    suspend: true,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: true,
    podFailurePolicy: { rules: [] },
    template,
  };
  assert.deepEqual(
    [
      of({ template: sparse }),
      of({ template: sparse, completions: 2 }),
      of({ template: sparse, parallelism: 2 }),
      of({ template: sparse, completions: 1, backoffLimitPerIndex: 0 }),
      of({ template: sparse, completions: 1, podFailurePolicy: { rules: [rule('', 'False'), onExit] } }),
      of({ ...chosen, template: sparse }),
    ],
    [
      { ...usual, completions: 1 },
      { ...usual, completions: 2 },
      { ...usual, parallelism: 2 },
      { ...usual, completions: 1, backoffLimitPerIndex: 0, backoffLimit: 2_147_483_647 },
      {
        ...usual,
        completions: 1,
        podReplacementPolicy: 'Failed',
        podFailurePolicy: { rules: [rule('True', 'False'), onExit] },
      },
      chosen,
    ],
  );
  const labelsOf = (metadata: object, own: object = sparse): unknown =>
    (defaultsOf(defaultJob, { metadata, spec: { template: own } }) as { metadata: { labels?: object } }).metadata
      .labels;
  assert.deepEqual(
    [
      labelsOf({}),
      labelsOf({ labels: {} }),
      labelsOf({ labels: { a: 'b' } }),
      labelsOf({}, { ...sparse, metadata: {} }),
    ],
    [{ app: 'x' }, { app: 'x' }, { a: 'b' }, undefined],
  );
});

test('a CronJob keeps three successful Jobs and one failed one', () => {
  const of = specs(defaultCronJob);
  const rules = (status: string): object => ({
    rules: [{ action: 'Ignore', onPodConditions: [{ type: 'a', status }] }],
  });
  assert.deepEqual(
    [
      of({ jobTemplate: { metadata: { name: 'j' }, spec: { template: sparse } } }),
      of({
        concurrencyPolicy: 'Forbid',
        suspend: true,
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 0,
        jobTemplate: { spec: { template: sparse, podFailurePolicy: rules('') } },
      }),
    ],
    [
      {
        concurrencyPolicy: 'Allow',
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        jobTemplate: { metadata: { name: 'j' }, spec: { template } },
      },
      {
        concurrencyPolicy: 'Forbid',
        suspend: true,
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 0,
        jobTemplate: { spec: { template, podFailurePolicy: rules('True') } },
      },
    ],
  );
});

test('a ReplicationController takes its labels and its selector from its template', () => {
  const labels = { app: 'x' };
  const of = (metadata: object, spec: object): unknown => defaultsOf(defaultReplicationController, { metadata, spec });
  assert.deepEqual(
    [
      of({}, { template: sparse }),
      of({ labels: { a: 'b' } }, { template: sparse, selector: { c: 'd' }, replicas: 0 }),
      of({ labels: {} }, { template: sparse, selector: {} }),
      of({}, {}),
    ],
    [
      { metadata: { labels }, spec: { replicas: 1, selector: labels, template } },
      { metadata: { labels: { a: 'b' } }, spec: { replicas: 0, selector: { c: 'd' }, template } },
      { metadata: { labels }, spec: { replicas: 1, selector: labels, template } },
      { metadata: {}, spec: { replicas: 1 } },
    ],
  );
  assert.deepEqual(defaultsOf(defaultStoredPodTemplate, { metadata: {}, template: sparse }), {
    metadata: {},
    template,
  });
});
