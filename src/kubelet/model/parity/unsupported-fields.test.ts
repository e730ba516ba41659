import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSchema } from '../../../api/core/pod.ts';
import { decode } from '../../../api/schema/decode.ts';
import { podFieldRows } from './pod-fields.ts';
import type { PodFieldRow } from './pod-fields.ts';
import { unsupportedFields } from './unsupported-fields.ts';

const missing = {
  ...podFieldRows['PodSpec']?.['volumes'],
  works: 'no',
  note: 'missing',
  severity: 'reject',
  whole: true,
} as unknown as PodFieldRow;

const found = (
  spec: Readonly<Record<string, unknown>>,
  ...tables: Parameters<typeof unsupportedFields> extends [unknown, ...infer Rest] ? Rest : never
): string[] => {
  const { value, errors } = decode(PodSchema, { spec: { containers: [{ name: 'c', image: 'i' }], ...spec } });
  assert.deepEqual(errors, []);
  return unsupportedFields(value, ...tables).map(({ path, severity }) => `${severity} ${path}`);
};

test('a plain pod uses no unsupported field', () => {
  assert.deepEqual(
    found({
      volumes: [{ name: 'v', emptyDir: {} }],
      hostNetwork: true,
      securityContext: { runAsUser: 1 },
      hostUsers: false,
      dnsPolicy: 'Default',
    }),
    [],
  );
});

test('fields that would break or weaken a pod reject it, with the path', () => {
  assert.deepEqual(
    found(
      {
        resourceClaims: [{ name: 'r', resourceClaimName: 'x' }],
        initContainers: [{ name: 'ok' }, { name: 'i', resources: { claims: [{ name: 'r' }] } }],
      },
      {
        PodSpec: { ...podFieldRows['PodSpec'], resourceClaims: missing },
        ResourceRequirements: { claims: missing },
        Container: podFieldRows['Container'] ?? {},
      },
    ),
    ['reject spec.resourceClaims', 'reject spec.initContainers[1].resources.claims'],
  );
});

test('fields that select the node are checked against the node, without a warning', () => {
  assert.deepEqual(found({ affinity: { nodeAffinity: {}, podAffinity: {} }, nodeSelector: { a: 'b' } }), []);
});

test('empty lists use no field', () => {
  assert.deepEqual(found({ resourceClaims: [], containers: [{ name: 'c', volumeDevices: [] }] }), []);
});
