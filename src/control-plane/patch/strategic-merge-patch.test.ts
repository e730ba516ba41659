import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { NodeSchema } from '../../api/core/node.ts';
import { PodDisruptionBudgetSchema } from '../../api/policy/pod-disruption-budget.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';
import { diffStrategic } from './testing/diff-strategic.ts';
import { freezeDeep } from './testing/arbitrary-json.ts';

const pod = freezeDeep({
  metadata: { name: 'p', labels: { app: 'web', tier: 'front' }, finalizers: ['a.io/x', 'b.io/y'] },
  spec: {
    containers: [
      {
        name: 'web',
        image: 'nginx:1',
        args: ['-v', '-x'],
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
        ports: [{ containerPort: 80, protocol: 'TCP' }],
      },
      { name: 'side', image: 'side:1' },
    ],
    volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }],
    tolerations: [{ key: 'a' }],
    nodeSelector: { disk: 'ssd' },
  },
});
type Spec = (typeof pod)['spec'];
const [web, side] = pod.spec.containers;

function patched(patch: unknown, schema: ObjectSchema = PodSchema, document: object = pod): Record<string, unknown> {
  return applyStrategicMergePatch(schema, document as Record<string, unknown>, freezeDeep(patch));
}
const specOf = (patch: object): Spec => patched({ spec: patch })['spec'] as Spec;

test('containers are merged by name', () => {
  assert.deepEqual(specOf({ containers: [{ name: 'side', image: 'side:2' }] }).containers, [
    web,
    { name: 'side', image: 'side:2' },
  ]);
});

test('a new container comes where the patch puts it, the others stay behind', () => {
  assert.deepEqual(
    specOf({ containers: [{ name: 'new', image: 'n' }] }).containers.map(({ name }) => name),
    ['new', 'web', 'side'],
  );
});

test('lists of scalars without a strategy are replaced', () => {
  assert.deepEqual(specOf({ containers: [{ name: 'web', args: ['-q'] }] }).containers[0], { ...web, args: ['-q'] });
});

test('lists without a merge key are replaced', () => {
  assert.deepEqual(specOf({ tolerations: [{ key: 'b' }] }).tolerations, [{ key: 'b' }]);
});

test('maps are merged, and null takes an entry away', () => {
  assert.deepEqual(
    (patched({ metadata: { labels: { tier: null, x: 'y' } } })['metadata'] as { labels: object }).labels,
    { app: 'web', x: 'y' },
  );
});

test('finalizers are merged as a set, and taken away by their directive', () => {
  const metadata = (patch: object): { finalizers: string[] } =>
    patched({ metadata: patch })['metadata'] as { finalizers: string[] };
  assert.deepEqual(
    new Set(metadata({ finalizers: ['c.io/z', 'a.io/x'] }).finalizers),
    new Set(['a.io/x', 'b.io/y', 'c.io/z']),
  );
  assert.deepEqual(metadata({ '$deleteFromPrimitiveList/finalizers': ['a.io/x'] }).finalizers, ['b.io/y']);
});

test('$patch: delete takes an element away', () => {
  assert.deepEqual(specOf({ containers: [{ name: 'web', $patch: 'delete' }] }).containers, [side]);
  assert.deepEqual(specOf({ containers: [{ name: 'none', $patch: 'delete' }] }).containers, [web, side]);
});

test('$patch: replace makes the patch the list, or the map', () => {
  assert.deepEqual(specOf({ containers: [{ $patch: 'replace' }, { name: 'only', image: 'o' }] }).containers, [
    { name: 'only', image: 'o' },
  ]);
  assert.deepEqual(specOf({ containers: [{ $patch: 'replace' }] }).containers, []);
  assert.deepEqual(specOf({ $patch: 'replace', containers: [side] }), { containers: [side] });
  assert.deepEqual(specOf({ nodeSelector: { $patch: 'delete' } }).nodeSelector, {});
});

test('$retainKeys takes away all but what it names', () => {
  const volumes = specOf({
    volumes: [{ name: 'data', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }],
  }).volumes;
  assert.deepEqual(volumes, [{ name: 'data', hostPath: { path: '/x' } }]);
  const deployment = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
  assert.deepEqual(
    patched({ spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }, DeploymentSchema, deployment),
    { spec: { strategy: { type: 'Recreate' } } },
  );
});

test('$setElementOrder orders merged lists, and keeps what only the server has in its place', () => {
  const names = (patch: object): string[] => specOf(patch).containers.map(({ name }) => name);
  assert.deepEqual(names({ '$setElementOrder/containers': [{ name: 'side' }, { name: 'web' }] }), ['side', 'web']);
  assert.deepEqual(
    names({
      '$setElementOrder/containers': [{ name: 'web' }, { name: 'new' }, { name: 'side' }],
      containers: [{ name: 'new' }],
    }),
    ['web', 'new', 'side'],
  );
  assert.deepEqual(
    names({ '$setElementOrder/containers': [{ name: 'new' }, { name: 'side' }], containers: [{ name: 'new' }] }),
    ['new', 'web', 'side'],
  );
});

test('what takes the place of another comes after what only the server has', () => {
  const names = specOf({
    '$setElementOrder/containers': [{ name: 'new' }],
    containers: [{ name: 'new' }, { name: 'web', $patch: 'delete' }],
  }).containers.map(({ name }) => name);
  assert.deepEqual(names, ['side', 'new']);
});

test('a node with the directives of kubectl taint and cordon', () => {
  const node = { spec: { podCIDRs: ['10.0.0.0/24'], taints: [{ key: 'a', effect: 'NoSchedule' }] } };
  assert.deepEqual(
    patched({ spec: { unschedulable: true, taints: [{ key: 'b', effect: 'NoExecute' }] } }, NodeSchema, node),
    {
      spec: { podCIDRs: ['10.0.0.0/24'], taints: [{ key: 'b', effect: 'NoExecute' }], unschedulable: true },
    },
  );
});

test('an object that is replaced as a whole loses what the patch does not say', () => {
  const budget = { spec: { selector: { matchLabels: { a: 'b' } }, minAvailable: 1 } };
  assert.deepEqual(patched({ spec: { selector: { matchExpressions: [] } } }, PodDisruptionBudgetSchema, budget), {
    spec: { selector: { matchExpressions: [] }, minAvailable: 1 },
  });
});

test('what comes new is without directives and nulls', () => {
  const added = specOf({
    securityContext: { runAsUser: null, runAsGroup: 1, seLinuxOptions: { $patch: 'delete' } },
    initContainers: [{ name: 'i', $patch: 'delete' }, { name: 'j' }],
  });
  assert.deepEqual(added, { ...pod.spec, securityContext: { runAsGroup: 1 }, initContainers: [{ name: 'j' }] });
});

test('fields that have no schema are kept for decoding to judge', () => {
  assert.deepEqual(specOf({ foo: { bar: [1] } }), { ...pod.spec, foo: { bar: [1] } });
});

for (const [what, patch, code, message] of [
  [
    'an element without its key',
    { spec: { containers: [{ image: 'x' }] } },
    500,
    'map: map[image:x] does not contain declared merge key: name',
  ],
  [
    'a directive there is not',
    { spec: { $patch: 'merge' } },
    500,
    'unknown patch type: merge in map: map[$patch:merge]',
  ],
  [
    'a directive there is not, in a list',
    { spec: { containers: [{ name: 'web', $patch: 'x' }] } },
    500,
    'unknown patch type: x in map: map[$patch:x name:web]',
  ],
  [
    'merging said of a list',
    { spec: { containers: [{ $patch: 'merge' }] } },
    500,
    'merging lists cannot yet be specified in the patch',
  ],
  ['keys to retain that are no list', { spec: { $retainKeys: 'x' } }, 400, 'invalid patch format of retainKeys'],
  [
    'keys to retain that lack one that is set',
    { spec: { $retainKeys: ['a'], nodeName: 'x' } },
    400,
    'invalid patch format of retainKeys',
  ],
  [
    'an order without a list to it',
    { spec: { $setElementOrder: [] } },
    400,
    'invalid patch format of setElementOrder list',
  ],
  [
    'a deletion without a list to it',
    { metadata: { $deleteFromPrimitiveList: [] } },
    400,
    'invalid patch format of primitive list',
  ],
  [
    'an order of a field that does not exist',
    { spec: { '$setElementOrder/foo': [] } },
    500,
    'unable to find api field in struct PodSpec for the json field "foo"',
  ],
  [
    'an order that the elements do not keep',
    { spec: { '$setElementOrder/containers': [{ name: 'web' }], containers: [{ name: 'side' }] } },
    500,
    "The order in patch list:\n[map[name:side]]\n doesn't match $setElementOrder list:\n[map[name:web]]\n",
  ],
  ['scalars among elements with keys', { spec: { containers: [{ name: 'web' }, 1] } }, 500, undefined],
  [
    'lists in a list',
    { spec: { containers: [[1]] } },
    422,
    'the server rejected our request due to an error in our request',
  ],
  [
    'a list to order that is none',
    { spec: { '$setElementOrder/containers': [], containers: 'web' } },
    500,
    'expected a []interface {}, but received a string',
  ],
  [
    'an order of elements that are not maps',
    { spec: { '$setElementOrder/containers': ['web'], containers: [{ name: 'web' }] } },
    500,
    'expected a map[string]interface {}, but received a string',
  ],
  [
    'scalars and maps in one list',
    { metadata: { finalizers: [{}] } },
    500,
    'list element types are not identical: [[a.io/x b.io/y] [map[]]]',
  ],
  ['a patch that is a list', [1], 400, 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
] as const) {
  test(`a strategic merge patch is refused for ${what}`, () => {
    assert.throws(
      () => patched(patch),
      (error) =>
        error instanceof ApiStatusError && error.code === code && (message === undefined || error.message === message),
    );
  });
}

test('a null patch changes nothing, and a null directive removes its list', () => {
  assert.equal(patched(null), pod);
  assert.deepEqual(patched({ metadata: { '$deleteFromPrimitiveList/finalizers': null } })['metadata'], {
    name: 'p',
    labels: pod.metadata.labels,
  });
  assert.deepEqual(patched({ metadata: { '$deleteFromPrimitiveList/finalizers': 'a.io/x' } }), pod);
  assert.deepEqual(patched({ metadata: { '$deleteFromPrimitiveList/ownerReferences': ['a'] } }), pod);
});

test('$retainKeys does not require keys that the patch removes or only orders', () => {
  const metadata = {
    $retainKeys: ['name', 'finalizers'],
    labels: null,
    '$deleteFromPrimitiveList/finalizers': ['a.io/x'],
    '$setElementOrder/finalizers': ['b.io/y'],
  };
  assert.deepEqual(patched({ metadata })['metadata'], { name: 'p', finalizers: ['b.io/y'] });
});

test('$setElementOrder also orders scalars and new lists', () => {
  const ordered = (metadata: object): unknown =>
    (patched({ metadata })['metadata'] as { finalizers: unknown }).finalizers;
  assert.deepEqual(ordered({ '$setElementOrder/finalizers': ['b.io/y', 'a.io/x'] }), ['b.io/y', 'a.io/x']);
  assert.deepEqual(ordered({ '$setElementOrder/finalizers': ['c', 'b.io/y', 'd'], finalizers: ['c', 'd'] }), [
    'c',
    'a.io/x',
    'b.io/y',
    'd',
  ]);
  assert.deepEqual(
    specOf({
      '$setElementOrder/initContainers': [{ name: 'a' }, { name: 'b' }],
      initContainers: [{ name: 'a', image: null }, { name: 'c', $patch: 'delete' }, { name: 'b' }],
    }),
    { ...pod.spec, initContainers: [{ name: 'a' }, { name: 'b' }] },
  );
  assert.deepEqual(specOf({ '$setElementOrder/initContainers': [{ name: 'a' }] }), pod.spec);
});

test('$patch: replace of a list removes what the same patch removes by key, and the order of the rest stays', () => {
  const list = [{ name: 'z' }, { $patch: 'replace' }, { name: 'web', $patch: 'delete' }, { name: 'a' }];
  assert.deepEqual(specOf({ containers: list }).containers, [{ name: 'z' }, { name: 'a' }]);
});

test('an unknown order says which type it has', () => {
  const types = ['text', 1, 1.5, true, {}, null].map((order) => {
    try {
      return patched({ spec: { '$setElementOrder/containers': order } });
    } catch (error) {
      return error instanceof ApiStatusError ? error.message : error;
    }
  });
  assert.deepEqual(
    types,
    ['string', 'int64', 'float64', 'bool', 'map[string]interface {}', '%!s(<nil>)'].map(
      (type) => `expected a []interface {}, but received a ${type}`,
    ),
  );
});

test('ten thousand elements are merged at once, not by looking through all for each', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `V${index}`, value: 'x' }));
  const merged = specOf({ containers: [{ name: 'web', env: many }] }).containers[0]?.env;
  assert.equal(merged?.length, 10_002);
});

const scalars = fc.constantFrom('x', 'y', 'z');
const named = (others: fc.Arbitrary<object>): fc.Arbitrary<object[]> =>
  fc.uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), others).map(([name, rest]) => ({ name, ...rest })),
    { selector: ({ name }) => name, maxLength: 4 },
  );
const containers = named(
  fc.record(
    {
      image: scalars,
      args: fc.array(scalars, { minLength: 1, maxLength: 3 }),
      env: named(fc.record({ value: scalars })),
    },
    { requiredKeys: [] },
  ),
);
const anyPod = fc
  .record(
    {
      metadata: fc.record(
        { labels: fc.dictionary(scalars, scalars), finalizers: fc.uniqueArray(scalars) },
        { requiredKeys: [] },
      ),
      spec: fc.record(
        {
          containers,
          volumes: named(fc.record({ emptyDir: fc.record({ medium: scalars }, { requiredKeys: [] }) })),
          tolerations: fc.array(fc.record({ key: scalars })),
          nodeName: scalars,
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
  .map((pod) => JSON.parse(JSON.stringify(pod)) as Record<string, unknown>);

test('the patch kubectl makes of two objects leads from one to the other, and doing it again changes nothing', () => {
  fc.assert(
    fc.property(anyPod, anyPod, (before, after) => {
      const patch = diffStrategic(PodSchema, freezeDeep(before), freezeDeep(after));
      const once = patched(patch, PodSchema, before);
      assert.deepEqual(once, after);
      assert.deepEqual(patched(patch, PodSchema, once), after);
    }),
  );
});
