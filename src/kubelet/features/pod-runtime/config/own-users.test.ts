// These tests cover pods with hostUsers: false: how their ID mapping is passed on, and what happens without one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../base/errors.ts';
import type { PodPlacement } from './node-facts.ts';
import { aPod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';

const pod = aPod({ hostUsers: false });
const placement: PodPlacement = {
  cgroupParent: '/kubepods/pod',
  userns: { mode: 'pod', hostId: 131_072, length: 65_536 },
};
const refused = (): Promise<PodPlacement> =>
  Promise.reject(
    new KubeletError('Invalid', "can't set `spec.hostUsers: false`, runtime does not support user namespaces"),
  );

test('the sandbox and each container in it get the same ids, at the first start and at the next', async () => {
  const h = new Harness();
  await h.sync(pod, { placement });
  h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
  await h.clock.advance(60_000);
  await h.sync(pod, { placement });
  const made = [...h.runtime.sandboxes(), ...h.runtime.containers()].map(
    ({ config }) => config.security.namespaces.userns,
  );
  assert.deepEqual(made, [placement.userns, placement.userns, placement.userns]);
  assert.deepEqual((await h.status(pod)).sandboxes[0]?.userns, { hostId: 131_072, length: 65_536 });
});

test('a pod without a mapping has no sandbox, reports why as upstream does, and gets one when a mapping is available', async () => {
  const h = new Harness();
  const { failures } = await h.sync(pod, { placement: refused() });
  assert.deepEqual(
    [h.runtime.sandboxes().length, failures.map(({ reason }) => reason)],
    [0, ['CreatePodSandboxError']],
  );
  assert.deepEqual(h.events, [
    "Warning FailedCreatePodSandBox Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  ]);
  await h.sync(pod, { placement });
  assert.deepEqual(h.containers, ['app#0 running']);
});

test('a container is not put into a sandbox with the users of the host, whatever its mapping', async () => {
  const h = new Harness();
  await h.sync(pod, { placement });
  h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
  await h.clock.advance(60_000);
  const { failures } = await h.sync(pod, { placement: { cgroupParent: '/kubepods/pod' } });
  assert.deepEqual(
    failures.map(({ reason, message }) => `${reason} ${message}`),
    ["CreateContainerConfigError can't set `spec.hostUsers: false`, runtime does not support user namespaces"],
  );
  assert.deepEqual(h.containers, ['app#0 137']);
});
