// The contract that the fake runtime is held to, on the real one: what simulations learn from the fake is true of containerd.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createCriClient } from '../../src/cri/cri-client.ts';
import { containerdEventSource } from '../../src/kubelet/adapters/cri/cri-events.ts';
import { CriImages } from '../../src/kubelet/adapters/cri/cri-images.ts';
import { CriRuntime } from '../../src/kubelet/adapters/cri/cri-runtime.ts';
import { runtimeContract } from '../../src/kubelet/ports/testing/runtime-contract.ts';
import { removeCgroupTree } from '../../src/up/cgroups.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { assertNoPodLeftovers, startContainerd, type TestContainerd } from './support/containerd.ts';

let containerd: TestContainerd;

before(async () => {
  containerd = await startContainerd({ name: 'contract' });
});
after(async () => {
  // Raw calls: the groups above the containers' are nobody's to remove but ours.
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
    runtime: new Proxy({}, { get: (_target, name) => bound(runtime, name) ?? bound(images, name) }) as CriRuntime & CriImages,
    events: containerdEventSource(client.channel, client.runtime),
    image: WEB_IMAGE,
    sleepCommand: ['sleep', '1000'],
    exitCommand: (code) => ['sh', '-c', `exit ${code}`],
    logDirectory,
    cgroupParent: `${containerd.cgroupRoot}/contract`,
    eventually: async (what, done) => {
      if (!(await waitUntil(done, 10_000))) throw new Error(`not within 10 s: ${what}`);
    },
    run: (work) => work,
    close: async () => client.close(),
  };
});

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? (value.bind(target) as unknown) : undefined;
}
