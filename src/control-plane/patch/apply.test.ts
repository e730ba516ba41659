import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { ObjectMetaSchema } from '../../api/core/meta.ts';
import { field, filled, object, rawExtension } from '../../api/schema/schema.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { applyPatch } from './apply.ts';
import type { ApplyOptions } from './apply.ts';
import { compareFields } from './compare-fields.ts';
import { pathsOf } from './field-set.ts';
import { trackWrite } from './managed-fields.ts';
import { mergeConfig } from './typed-merge.ts';
import { appliedFields } from './typed-fields.ts';
import { freezeDeep } from './testing/arbitrary-json.ts';

const start = 1_000_000_000_000;
const kind = { group: 'apps', version: 'v1', kind: 'Deployment' };
const container = { name: 'web', image: 'nginx:1' };
const config = (
  spec: object = {},
  containers: readonly object[] = [container],
  metadata: object = {},
): Record<string, unknown> =>
  freezeDeep({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: { ...spec, template: { spec: { containers } } },
  });

interface Deployment extends ApiObject {
  readonly spec: {
    replicas?: number;
    paused?: boolean;
    template: { spec: { containers: Record<string, unknown>[]; nodeSelector?: object } };
  };
}

function apply(live: ApiObject | undefined, applied: unknown, options: Partial<ApplyOptions> = {}): Deployment {
  const { object } = applyPatch({
    schema: DeploymentSchema,
    kind,
    live,
    config: applied,
    manager: 'a',
    force: false,
    subresource: '',
    nowMs: start,
    resetFields: ['status'],
    ...options,
  });
  return freezeDeep(object) as Deployment;
}
function update(old: ApiObject | undefined, object: object, manager: string): Deployment {
  return freezeDeep(
    trackWrite({
      schema: DeploymentSchema,
      apiVersion: 'apps/v1',
      old,
      new: object as ApiObject,
      manager,
      subresource: '',
      nowMs: start,
      resetFields: ['status'],
    }),
  ) as Deployment;
}
const managers = (object: ApiObject): unknown =>
  (object.metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);
const fieldsOf = (object: ApiObject, manager: string): unknown =>
  object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
const failure = (act: () => unknown): ApiStatusError => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiStatusError) return error;
    throw error;
  }
  return assert.fail('was not refused');
};

test('applying creates, and the applier owns what it named', () => {
  const created = apply(
    undefined,
    config({ replicas: 2, selector: { matchLabels: { app: 'x' } } }, [container], { labels: { app: 'x' } }),
  );
  assert.deepEqual(fieldsOf(created, 'a'), {
    'f:metadata': { 'f:labels': { 'f:app': {} } },
    'f:spec': {
      'f:replicas': {},
      'f:selector': {},
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } } } },
    },
  });
  assert.equal(created.metadata.managedFields?.[0]?.time, '2001-09-09T01:46:40Z');
});

test('applying the same again changes nothing, not even the time', () => {
  const created = apply(undefined, config({ replicas: 2 }));
  const again = apply(created, config({ replicas: 2 }), { nowMs: start + 60_000 });
  assert.deepEqual(again, created);
  assert.equal(again.metadata.managedFields, created.metadata.managedFields);
});

test('what is not applied any more goes', () => {
  const created = apply(undefined, config({ replicas: 2, paused: true }, [container, { name: 'side', image: 's' }]));
  assert.deepEqual(apply(created, config({ replicas: 2 })).spec, {
    replicas: 2,
    template: { spec: { containers: [container] } },
  });
});

test('a field that is no longer applied stays when another manager owns it too', () => {
  const created = apply(undefined, config({ replicas: 2, paused: true }));
  const shared = apply(created, config({ paused: true }), { manager: 'b' });
  const left = apply(shared, config({ replicas: 2 }));
  assert.equal(left.spec.paused, true);
  assert.equal(apply(left, config(), { manager: 'b' }).spec.paused, undefined);
});

test('an element that another manager applies too stays, without the fields that were only mine', () => {
  const created = apply(undefined, config({}, [container, { name: 'side', image: 's', tty: true }]));
  const owned = apply(created, config({}, [{ name: 'side', stdin: true }]), { manager: 'b' });
  assert.deepEqual(apply(owned, config()).spec.template.spec.containers, [container, { name: 'side', stdin: true }]);
});

test('an element in which another manager only set a field is removed with that field', () => {
  const side = { name: 'side', image: 's' };
  const created = apply(undefined, config({}, [container, side]));
  const theirs = update(
    created,
    { ...created, spec: { template: { spec: { containers: [container, { ...side, stdin: true }] } } } },
    'b',
  );
  const left = apply(theirs, config());
  assert.deepEqual(left.spec.template.spec.containers, [container]);
  assert.deepEqual(managers(left), ['a Apply']);
});

test('a field another manager set is a conflict', () => {
  const created = update(undefined, config({ replicas: 3 }), 'kubectl-client-side-apply');
  const error = failure(() => apply(created, config({ replicas: 5 })));
  assert.deepEqual(error.toStatus(), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    reason: 'Conflict',
    details: {
      causes: [
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "kubectl-client-side-apply" using apps/v1',
          field: '.spec.replicas',
        },
      ],
    },
    code: 409,
  });
});

test('conflicts are listed manager by manager', () => {
  const created = apply(undefined, config({ replicas: 3 }), { manager: 'z' });
  const both = update(created, { ...created, spec: { ...created.spec, paused: true } }, 'b');
  const error = failure(() => apply(both, config({ replicas: 5, paused: false }, [{ name: 'web', image: 'nginx:2' }])));
  assert.equal(
    error.message,
    'Apply failed with 3 conflicts: conflicts with "b" using apps/v1:\n- .spec.paused\nconflicts with "z":\n- .spec.replicas\n- .spec.template.spec.containers[name="web"].image',
  );
});

test('force takes the fields over', () => {
  const created = apply(undefined, config({ replicas: 3 }), { manager: 'b' });
  const forced = apply(created, config({ replicas: 5 }), { force: true });
  assert.equal(forced.spec.replicas, 5);
  assert.ok(!('f:replicas' in (fieldsOf(forced, 'b') as { 'f:spec': object })['f:spec']));
  assert.ok('f:replicas' in (fieldsOf(forced, 'a') as { 'f:spec': object })['f:spec']);
});

test('the same value is owned together', () => {
  const created = apply(undefined, config({ replicas: 3 }), { manager: 'b' });
  const both = apply(created, config({ replicas: 3 }));
  assert.deepEqual(managers(both), ['a Apply', 'b Apply']);
  assert.equal(
    failure(() => apply(both, config({ replicas: 4 }))).message,
    'Apply failed with 1 conflict: conflict with "b": .spec.replicas',
  );
});

test('applying and updating under one name are two managers', () => {
  const created = apply(undefined, config({ replicas: 3 }));
  const scaled = update(created, { ...created, spec: { ...created.spec, replicas: 4 } }, 'a');
  assert.deepEqual(managers(scaled), ['a Apply', 'a Update']);
  assert.equal(
    failure(() => apply(scaled, config({ replicas: 3 }))).message,
    'Apply failed with 1 conflict: conflict with "a" using apps/v1: .spec.replicas',
  );
});

test('the subresource of a manager is recorded', () => {
  const created = apply(undefined, config({ replicas: 3 }));
  const scaled = freezeDeep(
    trackWrite({
      schema: DeploymentSchema,
      apiVersion: 'apps/v1',
      old: created,
      new: { ...created, spec: { ...created.spec, replicas: 9 } } as ApiObject,
      manager: 's',
      subresource: 'scale',
      nowMs: start,
      resetFields: [],
    }),
  );
  assert.equal(
    failure(() => apply(scaled, config({ replicas: 3 }))).message,
    'Apply failed with 1 conflict: conflict with "s" with subresource "scale" using apps/v1: .spec.replicas',
  );
});

test('giving a field up to a controller leaves its value', () => {
  const created = apply(undefined, config({ replicas: 3 }));
  const handedOver = apply(
    created,
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: { replicas: 3 },
    },
    { manager: 'hpa' },
  );
  assert.equal(apply(handedOver, config()).spec.replicas, 3);
});

test('an object that was not tracked belongs to before-first-apply', () => {
  const created = config({ replicas: 3, paused: true });
  const applied = apply(created as unknown as ApiObject, config({ replicas: 3 }));
  assert.deepEqual(managers(applied), ['a Apply', 'before-first-apply Update']);
  assert.equal(applied.spec.paused, true);
  assert.equal(
    failure(() => apply(created as unknown as ApiObject, config({ replicas: 4 }))).message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
  );
});

test('atomic lists and maps are replaced, owned as one, and in conflict as one', () => {
  const created = apply(undefined, config({}, [{ ...container, args: ['a'] }]));
  assert.equal(
    failure(() => apply(created, config({}, [{ ...container, args: ['b'] }]), { manager: 'b' })).message,
    'Apply failed with 1 conflict: conflict with "a": .spec.template.spec.containers[name="web"].args',
  );
  assert.deepEqual(apply(created, config({}, [{ ...container, args: ['b', 'c'] }])).spec.template.spec.containers, [
    { ...container, args: ['b', 'c'] },
  ]);
  const empty = apply(created, config({}, [{ ...container, args: [] }]), { manager: 'b', force: true });
  assert.deepEqual(empty.spec.template.spec.containers, [{ ...container, args: [] }]);
});

test('an object of any kind in a field is replaced and owned as one', () => {
  const schema = object('Holder', { metadata: filled(1, ObjectMetaSchema), data: field(2, rawExtension) });
  const holder = (data: object): Record<string, unknown> => ({
    apiVersion: 'v1',
    kind: 'Holder',
    metadata: { name: 'a' },
    data,
  });
  const value = { spec: { a: 1 } };
  const owned = pathsOf(appliedFields(schema, holder(value))).map((each) => each.join('.'));
  assert.deepEqual(owned, ['f:data', 'f:metadata.f:name']);
  assert.deepEqual(mergeConfig(schema, holder({ spec: { b: 2 } }), holder(value)), holder(value));
  const { changed, removed } = compareFields(schema, holder({ spec: { a: 1, b: 2 } }), holder(value));
  assert.deepEqual([pathsOf(changed), pathsOf(removed)], [[['f:data']], []]);
});

test('elements of lists come in the order applied, others between them as they stood', () => {
  const names = (object: Deployment): unknown => object.spec.template.spec.containers.map(({ name }) => name);
  const of = (...list: string[]): Record<string, unknown> =>
    config(
      {},
      list.map((name) => ({ name, image: 'i' })),
    );
  const live = apply(undefined, of('a', 'b', 'c'), { manager: 'b' });
  assert.deepEqual(names(apply(live, of('c', 'a'))), ['b', 'c', 'a']);
  assert.deepEqual(names(apply(live, of('new', 'b'))), ['a', 'new', 'b', 'c']);
  assert.deepEqual(names(apply(live, of('b', 'new'))), ['a', 'b', 'c', 'new']);
  assert.deepEqual(names(apply(live, of('x', 'y'))), ['a', 'b', 'c', 'x', 'y']);
});

test('a port that leaves its protocol out is the one for TCP', () => {
  const live = apply(
    undefined,
    config({}, [{ ...container, ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }] }]),
    { manager: 'b' },
  );
  assert.deepEqual(
    apply(live, config({}, [{ ...container, ports: [{ containerPort: 80, hostPort: 8080 }] }])).spec.template.spec
      .containers[0]?.['ports'],
    [{ containerPort: 80, protocol: 'TCP', name: 'http', hostPort: 8080 }],
  );
});

test('null says that the field is applied, and must not be', () => {
  const created = apply(undefined, config({ replicas: 3 }), { manager: 'b' });
  assert.equal(failure(() => apply(created, config({ replicas: null }))).reason, 'Conflict');
  assert.equal(apply(created, config({ replicas: null }), { force: true }).spec.replicas, null);
});

const typed = 'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): ';
for (const [what, applied, code, message] of [
  ['a field there is not', config({ foo: 1 }), 500, `${typed}.spec.foo: field not declared in schema`],
  [
    'a string for a number',
    config({ replicas: '3' }),
    500,
    `${typed}.spec.replicas: expected numeric (int or float), got string`,
  ],
  [
    'a number for a string',
    config({}, [{ name: 'web', image: 1 }]),
    500,
    `${typed}.spec.template.spec.containers[name="web"].image: expected string, got &value.valueUnstructured{Value:1}`,
  ],
  ['a list for a map', config({ selector: [] }), 500, `${typed}.spec.selector: expected map, got []`],
  [
    'a map for a list',
    config({}, { name: 'web' } as never),
    500,
    `${typed}.spec.template.spec.containers: expected list, got map[name:web]`,
  ],
  [
    'two problems',
    config({ replicas: '3', paused: 1 }),
    500,
    `${typed}errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .spec.paused: expected boolean, got 1`,
  ],
  [
    'an element that is there twice',
    config({}, [container, container]),
    500,
    `${typed}.spec.template.spec.containers: duplicate entries for key [name="web"]`,
  ],
  [
    'an element that is null',
    config({}, [null as never]),
    500,
    `${typed}.spec.template.spec.containers: element 0: associative list with keys may not have a null element`,
  ],
  [
    'an element that is no map',
    config({}, ['web' as never]),
    500,
    `${typed}.spec.template.spec.containers: element 0: associative list with keys may not have non-map elements`,
  ],
  [
    'an entry of a set that is a map',
    config({}, [container], { finalizers: [{}] }),
    500,
    `${typed}.metadata.finalizers: element 0: associative list without keys has an element that's a map type`,
  ],
  ['managed fields', config({}, [container], { managedFields: [] }), 400, 'metadata.managedFields must be nil'],
  ['another kind', { apiVersion: 'v1', kind: 'Pod' }, 400, 'invalid object type: /v1, Kind=Pod'],
  [
    'being a list',
    [1],
    400,
    'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
  ],
  ['no kind', {}, 400, 'invalid object type: /, Kind='],
] as const) {
  test(`a configuration is refused for ${what}`, () => {
    const error = failure(() => apply(undefined, applied));
    assert.deepEqual([error.code, error.message], [code, message]);
  });
}

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

test('kubectl takes over from its client-side apply what the annotation says it set', () => {
  const lastApplied = config({ replicas: 3 });
  const live = update(
    undefined,
    config({ replicas: 3 }, [container], { annotations: { [annotation]: `${JSON.stringify(lastApplied)}\n` } }),
    'kubectl-client-side-apply',
  );
  const migrated = apply(live, config({ replicas: 4 }), { manager: 'kubectl' });
  assert.equal(migrated.spec.replicas, 4);
  assert.equal(
    migrated.metadata.annotations?.[annotation],
    '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":4,"template":{"spec":{"containers":[{"image":"nginx:1","name":"web"}]}}}}\n',
  );
  assert.equal(failure(() => apply(live, config({ replicas: 4 }))).reason, 'Conflict');
});

test('kubectl does not take over what changed since its client-side apply', () => {
  const live = update(
    undefined,
    config({ replicas: 3 }, [container], { annotations: { [annotation]: JSON.stringify(config({ replicas: 3 })) } }),
    'kubectl-client-side-apply',
  );
  const scaled = update(live, { ...live, spec: { ...live.spec, replicas: 7 } }, 'scaler');
  const error = failure(() =>
    apply(scaled, config({ replicas: 4 }, [{ name: 'web', image: 'nginx:2' }]), { manager: 'kubectl' }),
  );
  assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas');
});

test('a field applied in both modes goes when the entry of the client side was taken over', () => {
  const live = update(undefined, config({ replicas: 3, paused: true }), 'kubectl-client-side-apply');
  const taken = {
    ...live,
    metadata: {
      ...live.metadata,
      managedFields: live.metadata.managedFields?.map((entry) => ({
        ...entry,
        manager: 'kubectl',
        operation: 'Apply' as const,
      })),
    },
  };
  assert.equal(apply(taken, config({ replicas: 3 }), { manager: 'kubectl' }).spec.paused, undefined);
});

test('fields with empty maps are owned as such', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { volumes: [{ name: 'v', emptyDir: {} }], containers: [] },
  };
  const { object } = applyPatch({
    schema: PodSchema,
    kind: { group: '', version: 'v1', kind: 'Pod' },
    live: undefined,
    config: pod,
    manager: 'a',
    force: false,
    subresource: '',
    nowMs: start,
    resetFields: [],
  });
  assert.deepEqual(fieldsOf(object, 'a'), {
    'f:spec': { 'f:volumes': { 'k:{"name":"v"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} } } },
  });
});

test('who applies nothing any more is gone', () => {
  const shared = apply(
    apply(undefined, config({ replicas: 2 })),
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'default', labels: { x: 'y' } } },
    { manager: 'b' },
  );
  const gone = apply(
    shared,
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'default' } },
    { manager: 'b' },
  );
  assert.deepEqual(managers(gone), ['a Apply']);
  assert.equal(gone.metadata.labels?.['x'], undefined);
});

test('fields that were written in another version of the kind keep their managers', () => {
  const versions = ['apps/v1beta1', 'apps/v1'];
  const v2 = { kind: { ...kind, version: 'v2' }, versions };
  const asV2 = (object: Record<string, unknown>): object => ({ ...object, apiVersion: 'apps/v2' });
  const first = apply(undefined, config({ replicas: 3 }));
  const second = apply(first, asV2(config({ paused: true }, [])), { ...v2, manager: 'b' });
  assert.deepEqual(managers(second), ['a Apply', 'b Apply']);
  assert.match(
    failure(() => apply(second, asV2(config({ replicas: 4 }, [])), { ...v2, manager: 'b' })).message,
    /conflict with "a": \.spec\.replicas$/,
  );
  const again = apply(second, asV2(config({})), v2);
  assert.equal(again.spec.replicas, undefined, 'what a applied in v1 and does not apply in v2 goes');
  assert.deepEqual(
    managers(apply(first, asV2(config({ paused: true }, [])), { kind: v2.kind, manager: 'b' })),
    ['b Apply', 'before-first-apply Update'],
    'a version that is not served is forgotten',
  );
});
