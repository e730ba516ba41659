import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../base/errors.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';

const MOUNTED = { name: 'files', hostPath: '', readOnly: true, selinuxRelabel: false };

function world() {
  const harness = new Harness();
  harness.volumes = async () => new Map([['files', MOUNTED]]);
  const pod = aPod({
    containers: [aContainer('app', { volumeMounts: [{ name: 'files', mountPath: '/files', subPath: 'etc' }] })],
    volumes: [{ name: 'files', image: { reference: 'files:1', pullPolicy: 'IfNotPresent' } }],
  });
  return { harness, pod };
}

test('an image volume is pulled before its container is created, and passed to the runtime', async () => {
  const { harness, pod } = world();
  harness.image = async (name) => ({
    kind: 'present',
    imageRef: name === 'files:1' ? 'sha256:f' : name,
    user: { uid: 0, username: '' },
  });
  await harness.sync(pod);
  const [container] = harness.runtime.containers();
  assert.deepEqual(container?.config.mounts.find(({ containerPath }) => containerPath === '/files')?.image, {
    image: 'files:1',
    imageRef: 'sha256:f',
    subPath: 'etc',
  });
});

test("an image volume that cannot be pulled keeps the container waiting with the pull's own reason", async () => {
  const { harness, pod } = world();
  harness.image = async (name) =>
    name === 'files:1'
      ? { kind: 'failed', reason: 'ErrImagePull', message: 'no such image', retryAtMs: 10_000 }
      : { kind: 'present', imageRef: name, user: { uid: 0, username: '' } };
  const outcome = await harness.sync(pod);
  assert.deepEqual(
    outcome.failures.map(({ reason, message, retryAtMs }) => [reason, message, retryAtMs]),
    [['ErrImagePull', 'no such image', 10_000]],
  );
  assert.deepEqual(
    [harness.runtime.containers().length, harness.events.filter((event) => event.includes('ErrImagePull'))],
    [0, ['Warning Failed Error: ErrImagePull [app]']],
  );
});

test('a runtime that cannot mount images is named by its version, before anything is created', async () => {
  const { harness, pod } = world();
  harness.runtime.version = async () => ({ name: 'containerd', version: '1.6.20~ds1', apiVersion: 'v1' });
  const outcome = await harness.sync(pod);
  assert.deepEqual(
    outcome.failures.map(({ reason, message }) => [reason, message]),
    [
      [
        'CreateContainerConfigError',
        'image volumes need containerd 2.1 or later: containerd 1.6.20~ds1 of this node cannot mount images',
      ],
    ],
  );
  assert.equal(harness.runtime.containers().length, 0);
});

test('an image volume on Docker is an error before anything is created', async () => {
  const { harness, pod } = world();
  harness.runtime.version = async () => ({ name: 'docker', version: '29.1.0', apiVersion: 'v1' });
  const { failures } = await harness.sync(pod);
  assert.deepEqual(
    failures.map(({ reason, message }) => [reason, message]),
    [
      [
        'CreateContainerConfigError',
        'Docker cannot mount images as volumes: image volumes need containerd 2.1 or later',
      ],
    ],
  );
  assert.equal(harness.runtime.containers().length, 0);
});

test('a runtime that cannot mount a part of an image never shows the whole of it instead', async () => {
  const { harness, pod } = world();
  const failuresWith = async (version: string): Promise<string[]> => {
    harness.runtime.version = async () => ({ name: 'containerd', version, apiVersion: 'v1' });
    return (await harness.sync(pod)).failures.map(({ reason, message }) => `${reason}: ${message}`);
  };
  assert.deepEqual(await failuresWith('2.1.9+unknown'), [
    'CreateContainerConfigError: subPaths of image volumes need containerd 2.2 or later: containerd 2.1.9+unknown of this node cannot mount parts of images',
  ]);
  assert.equal(harness.runtime.containers().length, 0);
  // The node was upgraded.
  assert.deepEqual(await failuresWith('v2.2.0'), []);
  assert.equal(harness.runtime.containers().length, 1);
});

test('an image volume without subPath needs only containerd 2.1', async () => {
  const { harness, pod } = world();
  for (const mount of pod.spec.containers[0]?.volumeMounts ?? []) delete mount.subPath;
  harness.runtime.version = async () => ({ name: 'containerd', version: '2.1.0', apiVersion: 'v1' });
  assert.deepEqual((await harness.sync(pod)).failures, []);
});

test('a runtime that does not answer is queried again the next time', async () => {
  const { harness, pod } = world();
  const { version } = harness.runtime;
  harness.runtime.version = async () => Promise.reject(new KubeletError('Unavailable', 'no answer'));
  assert.deepEqual(
    (await harness.sync(pod)).failures.map(({ message }) => message),
    ['no answer'],
  );
  harness.runtime.version = version;
  assert.deepEqual((await harness.sync(pod)).failures, []);
});
