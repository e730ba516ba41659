// The fixture of the other integration tests: a private containerd, images built here, a real registry, and nothing
// left behind.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { removeCgroupTree } from '../../../src/up/cgroups.ts';
import { ballastLayer, busyboxImage, WEB_IMAGE, WEB_USER_IMAGE } from '../../../src/up/images/catalogue.ts';
import { readBusybox } from '../../../src/up/image-store.ts';
import type { TestContainerd } from './containerd.ts';
import { assertNoPodLeftovers, startContainerd } from './containerd.ts';
import type { TestRegistryOptions } from './registry.ts';
import { startRegistry } from './registry.ts';
import { startTogether } from './start-together.ts';

let containerd: TestContainerd;

before(async () => {
  containerd = await startContainerd({ name: 'ground' });
});
after(() => containerd?.stop());

async function runPod(name: string, image: string): Promise<{ sandboxId: string; containerId: string }> {
  const { cri, instance } = containerd;
  const logDirectory = join(instance.podLogsDir, name);
  mkdirSync(logDirectory, { recursive: true });
  const config = {
    metadata: { name, namespace: 'test', uid: name, attempt: 0 },
    logDirectory,
    linux: { cgroupParent: containerd.cgroupPath(name) },
  };
  const { podSandboxId } = await cri.runtime.runPodSandbox({ config });
  const { containerId } = await cri.runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: { metadata: { name: 'c', attempt: 0 }, image: { image }, logPath: 'c.log', linux: {} },
  });
  await cri.runtime.startContainer({ containerId });
  return { sandboxId: podSandboxId, containerId };
}

async function removePod(sandboxId: string): Promise<void> {
  await containerd.cri.runtime.stopPodSandbox({ podSandboxId: sandboxId });
  await containerd.cri.runtime.removePodSandbox({ podSandboxId: sandboxId });
}

async function output(containerId: string, command: string): Promise<string> {
  const answer = await containerd.cri.runtime.execSync({ containerId, cmd: ['sh', '-c', command], timeout: 5 });
  return new TextDecoder().decode(answer.stdout) + new TextDecoder().decode(answer.stderr);
}

test('images built without a registry run, as root or as the user the image names', async () => {
  const root = await runPod('root', WEB_IMAGE);
  const web = await runPod('web', WEB_USER_IMAGE);
  assert.equal((await output(root.containerId, 'id -u')).trim(), '0');
  assert.equal((await output(web.containerId, 'id -u; id -g')).trim(), '1000\n1000');
  await Promise.all([removePod(root.sandboxId), removePod(web.sandboxId)]);
});

test('the pause program ends at once when its sandbox is stopped', async () => {
  const { podSandboxId } = await containerd.cri.runtime.runPodSandbox({
    config: {
      metadata: { name: 'pause', namespace: 'test', uid: 'pause', attempt: 0 },
      linux: { cgroupParent: containerd.cgroupPath('pause') },
    },
  });
  const startMs = performance.now();
  await removePod(podSandboxId);
  assert.ok(performance.now() - startMs < 5000);
});

test('containers live on while containerd is killed and started again', async () => {
  const { sandboxId, containerId } = await runPod('survivor', WEB_IMAGE);
  const startedAt = async () => (await containerd.cri.runtime.containerStatus({ containerId })).status?.startedAt;
  const before = await startedAt();
  await containerd.restart('SIGKILL');
  assert.equal(await startedAt(), before);
  assert.equal((await output(containerId, 'echo alive')).trim(), 'alive');
  await removePod(sandboxId);
});

const registries: [string, TestRegistryOptions][] = [
  ['open', {}],
  ['with a password', { credentials: { username: 'anna', password: 'secret pass' } }],
  ['with password and TLS', { credentials: { username: 'anna', password: 'x' }, tls: true }],
];
for (const [name, options] of registries) {
  test(`an image is pushed to and pulled from a registry on loopback, ${name}`, async () => {
    const registry = await startRegistry(options);
    try {
      registry.allowIn(containerd.instance);
      const image = busyboxImage({
        reference: 'pushed:1',
        nodeArch: process.arch,
        busybox: await readBusybox(),
        extraLayers: [ballastLayer(100_000, name.length)],
      });
      const reference = await registry.push(image, 'test/ballast');
      const { imageRef } = await containerd.cri.images.pullImage({
        image: { image: reference },
        auth: options.credentials,
      });
      assert.equal(imageRef, image.config.digest);
      if (options.credentials !== undefined) {
        await containerd.cri.images.removeImage({ image: { image: reference } });
        await assert.rejects(
          containerd.cri.images.pullImage({
            image: { image: reference },
            auth: { ...options.credentials, password: 'wrong' },
          }),
        );
      }
    } finally {
      await registry.stop();
    }
  });
}

test('of fixtures that start together, none runs on when one fails', async () => {
  const stopped: string[] = [];
  const started = (name: string) => ({ stop: async () => void stopped.push(name) });
  await assert.rejects(startTogether(Promise.reject(new Error('no image')), delay(1, started('cluster'))), /no image/);
  await assert.rejects(startTogether(delay(1, started('containerd')), Promise.reject(new Error('no port'))), /no port/);
  assert.deepEqual(stopped, ['cluster', 'containerd']);
});

test('after the pods nothing of them is left, and the check notices what is', async () => {
  await removePodCgroups();
  await assertNoPodLeftovers(containerd);
  const { sandboxId } = await runPod('leak', WEB_IMAGE);
  await assert.rejects(assertNoPodLeftovers(containerd), /left something behind/);
  await removePod(sandboxId);
});

/** runc created the parents of the containers' cgroups for these plain calls; usually the agent removes them. */
async function removePodCgroups(): Promise<void> {
  for (const name of ['root', 'web', 'pause', 'survivor'])
    assert.deepEqual(await removeCgroupTree(containerd.cgroupPath(name)), []);
}
