import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from './testing/builders.ts';
import { Harness } from './testing/harness.ts';

const MOUNTED = { name: 'files', hostPath: '', readOnly: true, selinuxRelabel: false };

function world() {
  const harness = new Harness();
  harness.volumes = async () => new Map([['files', MOUNTED]]);
  const pod = aPod({ containers: [aContainer('app', { volumeMounts: [{ name: 'files', mountPath: '/files', subPath: 'etc' }] })], volumes: [{ name: 'files', image: { reference: 'files:1', pullPolicy: 'IfNotPresent' } }] });
  return { harness, pod };
}

test('an image volume is pulled before its container is made, and handed to the runtime', async () => {
  const { harness, pod } = world();
  harness.image = async (name) => ({ kind: 'present', imageRef: name === 'files:1' ? 'sha256:f' : name, user: { uid: 0, username: '' } });
  await harness.sync(pod);
  const [container] = harness.runtime.containers();
  assert.deepEqual(container?.config.mounts.find(({ containerPath }) => containerPath === '/files')?.image, { image: 'files:1', imageRef: 'sha256:f', subPath: 'etc' });
});

test('an image volume that cannot be had keeps the container waiting with the pull\'s own reason', async () => {
  const { harness, pod } = world();
  harness.image = async (name) => (name === 'files:1' ? { kind: 'failed', reason: 'ErrImagePull', message: 'no such image', retryAtMs: 10_000 } : { kind: 'present', imageRef: name, user: { uid: 0, username: '' } });
  const outcome = await harness.sync(pod);
  assert.deepEqual(outcome.failures.map(({ reason, message, retryAtMs }) => [reason, message, retryAtMs]), [['ErrImagePull', 'no such image', 10_000]]);
  assert.deepEqual([harness.runtime.containers().length, harness.events.filter((event) => event.includes('ErrImagePull'))], [0, ['Warning Failed Error: ErrImagePull [app]']]);
});

test('a runtime that cannot mount images is told by its version, before anything is created', async () => {
  const { harness, pod } = world();
  harness.runtime.version = async () => ({ name: 'containerd', version: '1.6.20~ds1', apiVersion: 'v1' });
  const outcome = await harness.sync(pod);
  assert.deepEqual(outcome.failures.map(({ reason, message }) => [reason, message]), [['CreateContainerConfigError', 'image volumes need containerd 2.1 or later: containerd 1.6.20~ds1 of this node cannot mount images']]);
  assert.equal(harness.runtime.containers().length, 0);
});
