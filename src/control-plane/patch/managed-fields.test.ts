import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ManagedFieldsEntry } from '../../api/core/meta.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { trackWrite, unlessOnlyTimes } from './managed-fields.ts';
import type { TrackOptions } from './managed-fields.ts';
import { freezeDeep } from './testing/arbitrary-json.ts';

const second = 1_000_000_000_000;
const at = (seconds: number): string => new Date(second + seconds * 1000).toISOString().replace('.000Z', 'Z');

const deployment = freezeDeep({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u1',
    creationTimestamp: at(0),
    generation: 1,
    labels: { app: 'web' },
  },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'nginx', image: 'nginx:1', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] },
        ],
        restartPolicy: 'Always',
      },
    },
  },
}) as ApiObject;
interface Deployment extends ApiObject {
  readonly spec: { replicas?: number; paused?: boolean };
  readonly status?: object;
}

function write(
  old: ApiObject | undefined,
  object: ApiObject,
  options: Partial<TrackOptions> & { seconds?: number } = {},
): Deployment {
  const { seconds = 0, ...rest } = options;
  return trackWrite({
    schema: DeploymentSchema,
    apiVersion: 'apps/v1',
    old,
    new: freezeDeep(object),
    manager: 'kubectl',
    subresource: '',
    nowMs: second + seconds * 1000,
    resetFields: ['status'],
    ...rest,
  }) as Deployment;
}
const withReplicas = (object: ApiObject, replicas: number): Deployment => ({
  ...object,
  spec: { ...(object as Deployment).spec, replicas },
});
const entries = (object: ApiObject): readonly ManagedFieldsEntry[] => object.metadata.managedFields ?? [];
const fieldsOf = (object: ApiObject, manager: string): unknown =>
  entries(object).find((entry) => entry.manager === manager)?.fieldsV1;
const withEntries = (object: ApiObject, managedFields: ManagedFieldsEntry[]): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, managedFields },
});

test('a creator owns what it set and what was defaulted, but not what names the object', () => {
  assert.deepEqual(entries(write(undefined, deployment, { manager: 'kubectl-create' })), [
    {
      manager: 'kubectl-create',
      operation: 'Update',
      apiVersion: 'apps/v1',
      time: at(0),
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:replicas': {},
          'f:selector': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:containers': {
                'k:{"name":"nginx"}': {
                  '.': {},
                  'f:image': {},
                  'f:name': {},
                  'f:ports': {
                    '.': {},
                    'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                  },
                  'f:resources': {},
                },
              },
              'f:restartPolicy': {},
            },
          },
        },
      },
    },
  ]);
});

test('what an update changes goes from its owner to the writer, and the time with it', () => {
  const created = write(undefined, deployment);
  const scaled = write(created, withReplicas(created, 5), { manager: 'scaler', seconds: 9 });
  assert.deepEqual(fieldsOf(scaled, 'scaler'), { 'f:spec': { 'f:replicas': {} } });
  assert.ok(!('f:replicas' in (fieldsOf(scaled, 'kubectl') as { 'f:spec': object })['f:spec']));
  assert.deepEqual(
    entries(scaled).map(({ manager, time }) => [manager, time]),
    [
      ['kubectl', at(0)],
      ['scaler', at(9)],
    ],
  );
});

test('updates of one manager are one entry', () => {
  const created = write(undefined, deployment);
  const first = write(created, withReplicas(created, 5), { manager: 'm', seconds: 1 });
  const second = write(first, { ...first, spec: { ...first.spec, paused: true } } as Deployment, {
    manager: 'm',
    seconds: 2,
  });
  assert.deepEqual(fieldsOf(second, 'm'), { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } });
  assert.deepEqual(
    entries(second).map(({ manager, time }) => [manager, time]),
    [
      ['kubectl', at(0)],
      ['m', at(2)],
    ],
  );
});

test('the same manager has an entry for each subresource', () => {
  const created = write(undefined, deployment);
  const updated = write(created, { ...created, status: { replicas: 3 } } as Deployment, {
    subresource: 'status',
    resetFields: ['spec'],
  });
  assert.deepEqual(entries(updated).map(({ subresource, fieldsV1 }) => [subresource, fieldsV1])[1], [
    'status',
    { 'f:status': { 'f:replicas': {} } },
  ]);
});

test('a write that changes nothing leaves the very entries', () => {
  const created = write(undefined, deployment);
  const copy = JSON.parse(JSON.stringify(created)) as ApiObject;
  const again = write(created, copy, { manager: 'other', seconds: 60 });
  assert.deepEqual(again, created);
  assert.equal(again.metadata.managedFields, created.metadata.managedFields);
  const { managedFields: _, ...metadata } = copy.metadata;
  assert.equal(
    write(created, { ...copy, metadata } as ApiObject, { manager: 'other', seconds: 60 }).metadata.managedFields,
    created.metadata.managedFields,
  );
});

test('removed fields have no owner, and managers without fields are dropped', () => {
  const created = write(undefined, deployment);
  const paused = write(created, { ...created, spec: { ...created.spec, paused: true } } as Deployment, {
    manager: 'm',
  });
  const { paused: _, ...spec } = paused.spec;
  const resumed = write(paused, { ...paused, spec } as Deployment, { manager: 'kubectl', seconds: 5 });
  assert.deepEqual(entries(resumed), entries(created));
});

test('fields a way of writing resets are never owned by it', () => {
  const created = write(undefined, { ...deployment, status: { replicas: 1 } } as Deployment);
  assert.ok(!('f:status' in (fieldsOf(created, 'kubectl') as object)));
});

test('empty lists and maps have no owner', () => {
  const created = write(undefined, {
    ...deployment,
    metadata: { ...deployment.metadata, annotations: {}, finalizers: [] },
  });
  assert.deepEqual(entries(created), entries(write(undefined, deployment)));
  const { labels: _, ...metadata } = created.metadata;
  const emptied = write(created, { ...created, metadata: { ...metadata, labels: {} } });
  assert.ok(!('f:metadata' in (fieldsOf(emptied, 'kubectl') as object)));
});

test('an empty list of managed fields clears them, and no manager is tracked until the next apply', () => {
  const created = write(undefined, deployment);
  for (const reset of [[], [{}]]) {
    const cleared = write(created, withEntries(withReplicas(created, 7), reset));
    assert.equal(cleared.metadata.managedFields, undefined);
    assert.equal(write(cleared, withReplicas(cleared, 8)).metadata.managedFields, undefined);
  }
  const others = [
    write(created, withEntries(created, []), { subresource: 'status' }),
    ...[[{}, {}], ['text']].map((wrong) => write(created, withEntries(created, wrong as ManagedFieldsEntry[]))),
  ];
  assert.deepEqual(
    others.map(entries),
    others.map(() => entries(created)),
  );
});

test('a client may edit managed fields of the object, but not by way of a subresource', () => {
  const created = write(undefined, deployment);
  const edited = withEntries(
    created,
    entries(created).map((entry) => ({ ...entry, manager: 'renamed' })),
  );
  assert.deepEqual(
    entries(write(created, edited)).map(({ manager }) => manager),
    ['renamed'],
  );
  assert.deepEqual(
    entries(write(created, edited, { subresource: 'status' })).map(({ manager }) => manager),
    ['kubectl'],
  );
});

test('managed fields that make no sense are taken for none given', () => {
  const created = write(undefined, deployment);
  for (const wrong of [
    { operation: 'Update', fieldsType: 'FieldsV1' },
    { operation: 'Update', apiVersion: 'apps/v1', fieldsType: 'FieldsV1', fieldsV1: { x: {} } },
    { apiVersion: 'apps/v1', fieldsType: 'FieldsV1' },
  ]) {
    assert.deepEqual(entries(write(created, withEntries(created, [wrong as ManagedFieldsEntry]))), entries(created));
  }
});

test('an object whose list elements have no key has no managed fields', () => {
  const created = write(undefined, deployment);
  const odd = { ...created, metadata: { ...created.metadata, finalizers: [{}] } } as unknown as ApiObject;
  assert.equal(write(created, odd).metadata.managedFields, undefined);
});

test('entries of versions that are not served are forgotten', () => {
  const created = write(undefined, deployment);
  const old = {
    manager: 'old',
    operation: 'Update',
    apiVersion: 'extensions/v1beta1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:paused': {} } },
  } as const;
  assert.deepEqual(
    entries(write(created, withEntries(created, [...entries(created), old]))).map(({ manager }) => manager),
    ['kubectl'],
  );
});

test('no more than ten updates are kept apart; the oldest become ancient changes', () => {
  let object = write(undefined, deployment, { manager: 'creator' });
  for (let index = 1; index <= 15; index++) {
    object = write(
      object,
      { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [`l${index}`]: 'x' } } },
      { manager: `m${index}`, seconds: index },
    );
  }
  assert.deepEqual(
    entries(object).map(({ manager }) => manager),
    ['ancient-changes', 'm7', 'm8', 'm9', 'm10', 'm11', 'm12', 'm13', 'm14', 'm15'],
  );
  assert.equal(entries(object)[0]?.time, at(6));
  assert.deepEqual(
    Object.keys(
      (fieldsOf(object, 'ancient-changes') as { 'f:metadata': { 'f:labels': object } })['f:metadata']['f:labels'],
    ).sort(),
    ['.', 'f:app', 'f:l1', 'f:l2', 'f:l3', 'f:l4', 'f:l5', 'f:l6'],
  );
});

test('elements of a list that are there twice are owned as one', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'd', uid: 'u' },
    spec: {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      ],
    },
  } as ApiObject;
  const options = { schema: PodSchema, apiVersion: 'v1' };
  const created = write(undefined, pod, options);
  const envOf = (fields: unknown): unknown =>
    (fields as { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { 'f:env': unknown } } } })['f:spec']['f:containers'][
      'k:{"name":"c"}'
    ]['f:env'];
  assert.deepEqual(envOf(fieldsOf(created, 'kubectl')), { '.': {}, 'k:{"name":"A"}': {} });
  const changed = {
    ...created,
    spec: {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '3' },
          ],
        },
      ],
    },
  } as unknown as ApiObject;
  assert.deepEqual(envOf(fieldsOf(write(created, changed, { ...options, manager: 'm' }), 'm')), {
    'k:{"name":"A"}': {},
  });
  const single = {
    ...created,
    spec: { containers: [{ name: 'c', env: [{ name: 'A', value: '1' }] }] },
  } as unknown as ApiObject;
  assert.deepEqual(envOf(fieldsOf(write(created, single, { ...options, manager: 'm' }), 'm')), {
    'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} },
  });
});

test('who gives no name is unknown', () => {
  assert.equal(entries(write(undefined, deployment, { manager: '' }))[0]?.manager, 'unknown');
});

test('an object that differs in nothing but the times of its entries is the old one', () => {
  const created = write(undefined, deployment);
  const later = withEntries(
    created,
    entries(created).map((entry) => ({ ...entry, time: at(99) })),
  );
  assert.equal(unlessOnlyTimes(created, later), created);
  const other = withReplicas(later, 9);
  assert.equal(unlessOnlyTimes(created, other), other);
  const renamed = withEntries(
    created,
    entries(created).map((entry) => ({ ...entry, manager: 'x' })),
  );
  assert.equal(unlessOnlyTimes(created, renamed), renamed);
});
