import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { PodSchema } from '../../api/core/pod.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { applyPatch } from './apply.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';
import { trackWrite } from './managed-fields.ts';
import { freezeDeep } from './testing/arbitrary-json.ts';

const pod = freezeDeep({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'd', uid: 'u', labels: { a: 'b' }, finalizers: ['x'] },
  spec: {
    containers: [
      { name: 'c', image: 'i', env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80, protocol: 'TCP' }] },
    ],
    nodeSelector: { a: 'b' },
  },
});

const keys = fc.constantFrom(
  ...[
    'apiVersion',
    'kind',
    'metadata',
    'spec',
    'name',
    'labels',
    'finalizers',
    'managedFields',
    'containers',
    'env',
    'value',
    'ports',
    'containerPort',
    'nodeSelector',
    'image',
    'a',
    '__proto__',
    'constructor',
  ],
  ...[
    '$patch',
    '$retainKeys',
    '$setElementOrder/containers',
    '$setElementOrder/env',
    '$setElementOrder',
    '$deleteFromPrimitiveList/finalizers',
    '$deleteFromPrimitiveList',
    '$setElementOrder/',
  ],
);
const scalars = fc.constantFrom<unknown>(
  '',
  'a',
  'c',
  'v1',
  'Pod',
  'replace',
  'delete',
  'merge',
  0,
  80,
  -1,
  1.5,
  2n ** 60n,
  true,
  null,
);
const { malicious } = fc.letrec<{ malicious: unknown }>((tie) => ({
  malicious: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    scalars,
    fc.array(tie('malicious'), { maxLength: 3 }),
    // Object.fromEntries makes `__proto__` a field of the object's own, as JSON.parse does.
    fc.array(fc.tuple(keys, tie('malicious')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}));
const shaped = fc.oneof(
  malicious,
  fc.record(
    { apiVersion: fc.constant('v1'), kind: fc.constant('Pod'), metadata: malicious, spec: malicious },
    { requiredKeys: ['apiVersion', 'kind'] },
  ),
);
const pointer = fc
  .array(
    fc.constantFrom(
      'metadata',
      'spec',
      'containers',
      '0',
      '-1',
      '-',
      '01',
      'name',
      '__proto__',
      'length',
      '~1',
      '~',
      '',
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.map((part) => `/${part}`).join(''));
const operation = fc.oneof(
  malicious,
  fc.record(
    {
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
      path: pointer,
      from: pointer,
      value: malicious,
    },
    { requiredKeys: ['op'] },
  ),
);

const elements = fc.constantFrom(
  '.',
  'f:metadata',
  'f:labels',
  'f:a',
  'f:spec',
  'f:containers',
  'k:{"name":"c"}',
  'k:{}',
  'k:x',
  'v:1',
  'i:0',
  'x',
  '__proto__',
);
const { fieldsV1 } = fc.letrec<{ fieldsV1: object }>((tie) => ({
  fieldsV1: fc
    .array(fc.tuple(elements, fc.oneof({ maxDepth: 4 }, fc.constant({}), tie('fieldsV1'))), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries)),
}));

/** Runs a patch. A refusal must be a Status; any other error is a fault of the server. */
function refusedOrDone(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    assert.ok(typeof error.toStatus().message === 'string');
  }
  assert.equal(({} as { a?: unknown }).a, undefined);
}

const applyTo = (live: ApiObject | undefined, config: unknown): ApiObject =>
  applyPatch({
    schema: PodSchema,
    kind: { group: '', version: 'v1', kind: 'Pod' },
    live,
    config,
    manager: 'kubectl',
    force: true,
    subresource: '',
    nowMs: 0,
    resetFields: [],
  }).object;

for (const [name, patches, apply] of [
  [
    'JSON patch',
    fc.oneof(malicious, fc.array(operation, { maxLength: 5 })),
    (patch: unknown) => applyJsonPatch(pod, patch),
  ],
  ['merge patch', shaped, (patch: unknown) => applyMergePatch(pod, patch)],
  ['strategic merge patch', shaped, (patch: unknown) => applyStrategicMergePatch(PodSchema, pod, patch)],
  ['applied configuration', shaped, (patch: unknown) => applyTo(pod as unknown as ApiObject, patch)],
  ['created configuration', shaped, (patch: unknown) => applyTo(undefined, patch)],
] as const) {
  test(`whatever a ${name} is, it is done or refused, and the object stays as it is`, () => {
    fc.assert(
      fc.property(patches, (patch) => refusedOrDone(() => apply(freezeDeep(patch)))),
      { numRuns: 500 },
    );
  });
}

test('whatever clients write into managed fields, writes go on', () => {
  const entry = fc.oneof(
    malicious,
    fc.record({
      manager: scalars,
      operation: fc.constantFrom('Apply', 'Update', 'x'),
      apiVersion: fc.constant('v1'),
      fieldsType: fc.constant('FieldsV1'),
      time: fc.constantFrom('', 'x', '2026-01-01T00:00:00Z'),
      fieldsV1: fc.oneof(malicious, fieldsV1),
    }),
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), (managedFields) => {
      const before = pod as unknown as ApiObject;
      const after = { ...before, metadata: { ...before.metadata, labels: { a: 'c' }, managedFields } } as ApiObject;
      const written = trackWrite({
        schema: PodSchema,
        apiVersion: 'v1',
        old: before,
        new: after,
        manager: 'm',
        subresource: '',
        nowMs: 0,
        resetFields: [],
      });
      refusedOrDone(() =>
        applyTo(written, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { a: 'd' } } }),
      );
    }),
    { numRuns: 500 },
  );
});

test('an element that a patch names again and again is not merged with all that came of it each time', () => {
  const patch = {
    spec: {
      containers: Array.from({ length: 5000 }, (_, index) => ({ name: 'c', env: [{ name: `E${index}`, value: '' }] })),
    },
  };
  assert.throws(() => applyStrategicMergePatch(PodSchema, pod, patch), {
    code: 400,
    message: 'the patch names elements of a list again more than 100 times',
  });
});

test('of very many conflicts some are named', () => {
  const data = (value: string): object =>
    Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`k${index}`, value]));
  const config = (value: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations: data(value) },
  });
  const created = applyPatch({
    schema: PodSchema,
    kind: { group: '', version: 'v1', kind: 'Pod' },
    live: undefined,
    config: config('a'),
    manager: 'a',
    force: false,
    subresource: '',
    nowMs: 0,
    resetFields: [],
  });
  const again = (): unknown =>
    applyPatch({
      schema: PodSchema,
      kind: { group: '', version: 'v1', kind: 'Pod' },
      live: created.object,
      config: config('b'),
      manager: 'b',
      force: false,
      subresource: '',
      nowMs: 0,
      resetFields: [],
    });
  assert.throws(
    again,
    (error) =>
      error instanceof ApiStatusError &&
      error.message.startsWith('Apply failed with 3000 conflicts') &&
      error.toStatus().details?.causes?.length === 1000,
  );
});
