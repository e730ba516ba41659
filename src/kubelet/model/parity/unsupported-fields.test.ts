import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSchema } from '../../../api/core/pod.ts';
import { decode } from '../../../api/schema/decode.ts';
import { unsupportedFields } from './unsupported-fields.ts';

const found = (spec: Readonly<Record<string, unknown>>): string[] => {
  const { value, errors } = decode(PodSchema, { spec: { containers: [{ name: 'c', image: 'i' }], ...spec } });
  assert.deepEqual(errors, []);
  return unsupportedFields(value).map(({ path, severity }) => `${severity} ${path}`);
};

test('a plain pod asks for nothing that is missing', () => {
  assert.deepEqual(found({ volumes: [{ name: 'v', emptyDir: {} }], hostNetwork: true, securityContext: { runAsUser: 1 }, hostUsers: false, dnsPolicy: 'Default' }), []);
});

test('what would break or weaken a pod rejects it, with the path', () => {
  assert.deepEqual(
    found({
      runtimeClassName: 'gvisor',
      volumes: [{ name: 'ok', emptyDir: {} }, { name: 'claim', persistentVolumeClaim: { claimName: 'x' } }, { name: 'huge', emptyDir: { medium: 'HugePages-2Mi' } }],
      initContainers: [{ name: 'i', env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }] }],
    }),
    [
      'reject spec.runtimeClassName', 'reject spec.volumes[1].persistentVolumeClaim', 'reject spec.volumes[2].emptyDir.medium',
      'reject spec.initContainers[0].env[0].valueFrom.fileKeyRef',
    ],
  );
});

test('what only loses a convenience is warned about', () => {
  assert.deepEqual(found({ overhead: { cpu: '1' }, affinity: { nodeAffinity: {}, podAffinity: {} }, nodeSelector: { a: 'b' } }), ['warn spec.overhead', 'warn spec.affinity.nodeAffinity', 'warn spec.nodeSelector']);
});

test('empty lists ask for nothing', () => {
  assert.deepEqual(found({ resourceClaims: [], containers: [{ name: 'c', volumeDevices: [] }] }), []);
});
