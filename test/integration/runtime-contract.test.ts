// The contract tests of the fake runtime, on the real one: they show that the fake behaves like containerd.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createCriClient } from '../../src/cri/cri-client.ts';
import { containerdEventSource, criEventSource } from '../../src/kubelet/adapters/cri/cri-events.ts';
import { NamespaceMode } from '../../src/cri/generated/cri-v1.ts';
import { CriImages } from '../../src/kubelet/adapters/cri/cri-images.ts';
import { CriRuntime } from '../../src/kubelet/adapters/cri/cri-runtime.ts';
import type { RuntimeEvent } from '../../src/kubelet/ports/runtime.ts';
import { runtimeContract } from '../../src/kubelet/ports/testing/runtime-contract.ts';
import { removeCgroupTree } from '../../src/up/cgroups.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import type { TestContainerd } from './support/containerd.ts';
import { assertNoPodLeftovers, startContainerd, testCgroupDriver, testsOnDocker } from './support/containerd.ts';
import { waitUntil } from './support/patience.ts';

let containerd: TestContainerd;

before(async () => {
  containerd = await startContainerd({ name: 'contract' });
});
after(async () => {
  // These tests use plain calls and must remove the parent cgroups of the containers themselves.
  if (containerd !== undefined) await removeCgroupTree(`${containerd.cgroupRoot}/contract`);
  await (containerd === undefined ? undefined : assertNoPodLeftovers(containerd).finally(() => containerd.stop()));
});

runtimeContract('containerd', async () => {
  const client = createCriClient({ endpoint: containerd.endpoint, clock: systemClock, requestTimeoutMs: 20_000 });
  const runtime = new CriRuntime(client.runtime);
  const images = new CriImages(client.images);
  const logDirectory = join(containerd.instance.podLogsDir, 'contract');
  mkdirSync(logDirectory, { recursive: true });
  return {
    // Both halves of CRI on one object, as the fake has them.
    runtime: new Proxy({}, { get: (_target, name) => bound(runtime, name) ?? bound(images, name) }) as CriRuntime &
      CriImages,
    events: testsOnDocker ? criEventSource(client.runtime) : containerdEventSource(client.channel, client.runtime),
    image: WEB_IMAGE,
    sleepCommand: ['sleep', '1000'],
    exitCommand: (code) => ['sh', '-c', `exit ${code}`],
    logDirectory,
    cgroupParent: containerd.cgroupPath('contract'),
    eventually: async (what, done) => {
      if (!(await waitUntil(done, 10_000))) throw new Error(`not within 10 s: ${what}`);
    },
    run: (work) => work,
    close: async () => client.close(),
  };
});

const since = (major: number, minor: number): boolean =>
  containerd.facts.majorVersion > major ||
  (containerd.facts.majorVersion === major && containerd.facts.minorVersion >= minor);

test('events of CRI bring the pod with its end since containerd 1.7; before, there are none', async () => {
  const client = createCriClient({ endpoint: containerd.endpoint, clock: systemClock, requestTimeoutMs: 20_000 });
  const stop = new AbortController();
  const seen: RuntimeEvent[] = [];
  let open = false;
  const stream = criEventSource(client.runtime).subscribe(
    { onOpen: () => void (open = true), onEvent: (event) => void seen.push(event) },
    stop.signal,
  );
  try {
    if (!since(1, 7)) return await assert.rejects(stream, { kind: 'Unimplemented' });
    assert.ok(await waitUntil(() => open, 10_000));
    const config = {
      metadata: { name: 'shown', namespace: 'default', uid: 'shown', attempt: 0 },
      labels: { 'io.kubernetes.pod.uid': 'shown' },
      linux: {
        cgroupParent: containerd.cgroupPath('contract'),
        securityContext: { namespaceOptions: { network: NamespaceMode.NODE } },
      },
    };
    const { podSandboxId } = await client.runtime.runPodSandbox({ config });
    const { containerId } = await client.runtime.createContainer({
      podSandboxId,
      sandboxConfig: config,
      config: {
        metadata: { name: 'main', attempt: 0 },
        image: { image: WEB_IMAGE },
        command: ['sh', '-c', 'exit 3'],
        linux: {},
      },
    });
    await client.runtime.startContainer({ containerId });
    const end = (): RuntimeEvent | undefined => seen.find(({ kind, id }) => kind === 'stopped' && id === containerId);
    assert.ok(
      await waitUntil(() => end() !== undefined, 10_000),
      JSON.stringify(seen.map(({ kind, id }) => [kind, id])),
    );
    assert.deepEqual(
      [
        end()?.podUid,
        end()?.pod?.sandbox.id,
        end()?.pod?.containers.map(({ id, state, exitCode }) => [id, state, exitCode]),
      ],
      ['shown', podSandboxId, [[containerId, 'exited', 3]]],
    );
    await client.runtime.stopPodSandbox({ podSandboxId });
    await client.runtime.removePodSandbox({ podSandboxId });
  } finally {
    stop.abort();
    await stream.catch(() => undefined);
    client.close();
  }
});

test('the cgroup driver is reported since containerd 2.0; before, the configuration has to set it', async () => {
  const client = createCriClient({ endpoint: containerd.endpoint, clock: systemClock, requestTimeoutMs: 20_000 });
  const driver = new CriRuntime(client.runtime).cgroupDriver();
  if (since(2, 0)) assert.equal(await driver, testCgroupDriver());
  else await assert.rejects(driver, { kind: 'Unimplemented' });
  client.close();
});

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? (value.bind(target) as unknown) : undefined;
}
