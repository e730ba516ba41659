import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRuntimeClass } from './apply-runtime-class.ts';
import type { Pod } from './core/pod.ts';
import type { RuntimeClass } from './node/runtime-class.ts';
import { buildPod } from './testing/pod-builder.ts';

const apply = (pod: Pod, rest: Partial<RuntimeClass>): Pod['spec'] | string => {
  const result = applyRuntimeClass(pod, { metadata: { name: 'r', namespace: '', uid: '' }, handler: 'h', ...rest });
  return result.kind === 'applied' ? result.pod.spec : result.message;
};

test('a pod gets the overhead, the node selector and the tolerations of its class', () => {
  const pod = buildPod({ 'spec.nodeSelector': { a: '1' }, 'spec.tolerations': [{ key: 'k', operator: 'Exists' }] });
  const spec = apply(pod, {
    overhead: { podFixed: { memory: '10Mi' } },
    scheduling: {
      nodeSelector: { a: '1', b: '2' },
      tolerations: [
        { key: 't', operator: 'Exists' },
        { key: 'k', operator: 'Equal', value: 'v' },
      ],
    },
  });
  assert.ok(typeof spec !== 'string');
  assert.deepEqual(
    [spec.overhead, spec.nodeSelector, spec.tolerations],
    [
      { memory: '10Mi' },
      { a: '1', b: '2' },
      [
        { key: 'k', operator: 'Exists' },
        { key: 't', operator: 'Exists' },
      ],
    ],
  );
  assert.equal(pod.spec.overhead, undefined);
});

test('a class that says nothing changes nothing', () => {
  const pod = buildPod({ 'spec.nodeSelector': { a: '1' } });
  assert.deepEqual(apply(pod, {}), pod.spec);
});

test('a pod that contradicts its class is refused in the words of the API server', () => {
  assert.equal(
    apply(buildPod({ 'spec.overhead': { memory: '1Mi' } }), { overhead: { podFixed: { memory: '2Mi' } } }),
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  );
  assert.ok(
    typeof apply(buildPod({ 'spec.overhead': { memory: '1024Ki' } }), { overhead: { podFixed: { memory: '1Mi' } } }) !==
      'string',
  );
  assert.equal(
    apply(buildPod({ 'spec.overhead': { memory: '1Mi' } }), {}),
    'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  );
  assert.equal(
    apply(buildPod({ 'spec.nodeSelector': { a: '1' } }), { scheduling: { nodeSelector: { a: '2' } } }),
    'conflict: runtimeClass.scheduling.nodeSelector[a] = 2; pod.spec.nodeSelector[a] = 1',
  );
});
