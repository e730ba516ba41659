import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import { createRuntimeHandlers } from './runtime-handlers.ts';

const found = { metadata: { name: 'gvisor', namespace: '', uid: 'c' }, handler: 'runsc' };
const objects = {
  get: async (_kind: string, _namespace: string, name: string) => (name === 'gvisor' ? found : undefined),
} as unknown as ClusterObjects;
const ofClass = (runtimeClassName: string) => buildPod({ 'spec.runtimeClassName': runtimeClassName });

test('a pod without a class has the default handler of the runtime, and needs no object', async () => {
  const handlers = createRuntimeHandlers({ get: () => assert.fail('asked') }, () => 'refused');
  assert.equal(await handlers.lookup(buildPod()), '');
});

test('a pod has the handler that its class names', async () => {
  assert.equal(await createRuntimeHandlers(objects, () => undefined).lookup(ofClass('gvisor')), 'runsc');
});

test('a class that does not exist, or that the pod contradicts, is an error', async () => {
  await assert.rejects(async () => createRuntimeHandlers(objects, () => undefined).lookup(ofClass('kata')), {
    kind: 'NotFound',
    message: 'runtimeclass.node.k8s.io "kata" not found',
  });
  await assert.rejects(async () => createRuntimeHandlers(objects, () => 'overhead differs').lookup(ofClass('gvisor')), {
    kind: 'Invalid',
    message: 'overhead differs',
  });
});
