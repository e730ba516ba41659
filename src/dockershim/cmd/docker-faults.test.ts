// Each call of the CRI is made while each call to Docker that it makes fails in each way.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { CallOptions } from '../../cri/cri-api.ts';
import { codeName } from '../../grpc/grpc-status.ts';
import { ContainerStatsReader } from '../shim/container-stats.ts';
import { PodStatsReader } from '../shim/pod-stats.ts';
import type { DockershimImages, DockershimRuntime } from '../shim/dockershim.ts';
import { createDockershim } from '../shim/dockershim.ts';
import { FakeDockerEngine } from '../shim/testing/fake-docker-engine.ts';
import { createShimFixture } from '../shim/testing/shim-fixture.ts';
import { createDockerClient } from '../adapters/docker-client.ts';
import { DockerHttp } from '../adapters/docker-http.ts';
import type { DockerFault, FakeDockerServer } from '../adapters/testing/fake-docker-server.ts';
import { startFakeDockerServer } from '../adapters/testing/fake-docker-server.ts';

const faults: readonly DockerFault[] = ['refused', 'hang', 'cut', 'garbage', 404, 409, 500];
const usualCodes: Readonly<Record<DockerFault, string>> = {
  refused: 'Unavailable',
  hang: 'Canceled',
  cut: 'Unavailable',
  garbage: 'Unknown',
  404: 'NotFound',
  409: 'FailedPrecondition',
  500: 'Unknown',
};

/** What exists before the call. */
type Stage = 'nothing' | 'sandbox' | 'created' | 'running' | 'exited';

interface Fixture {
  readonly fixture: ReturnType<typeof createShimFixture>;
  readonly runtime: DockershimRuntime;
  readonly images: DockershimImages;
  readonly server: FakeDockerServer;
  readonly http: DockerHttp;
  readonly podSandboxId: string;
  readonly containerId: string;
}

const IMAGE = 'web:1';
const metadata = { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 };
const sandboxConfig = { metadata, logDirectory: '/logs' };
const config = { metadata: { name: 'app', attempt: 0 }, image: { image: IMAGE }, logPath: 'app/0.log' };

async function createWorld(stage: Stage): Promise<Fixture> {
  const engine = new FakeDockerEngine();
  const server = await startFakeDockerServer(engine);
  const http = new DockerHttp(server.socketPath);
  const client = createDockerClient(http);
  const fixture = createShimFixture(engine, client);
  const { host, clock, sandboxes, containers, images, network } = fixture;
  engine.images.set(IMAGE, { Id: 'sha256:web', RepoTags: [IMAGE] });
  const tickets = { exec: () => 'http://exec', attach: () => 'http://attach', portForward: () => 'http://ports' };
  const stats = new ContainerStatsReader({ engine: client, clock });
  const podStats = new PodStatsReader({ engine: client, host, clock });
  const parts = { podStats, engine: client, sandboxes, containers, images, stats, network, tickets, host, clock };
  const shim = createDockershim(parts);
  const world = { fixture, ...shim, server, http, podSandboxId: '', containerId: '' };
  if (stage === 'nothing') return world;
  const { podSandboxId } = await shim.runtime.runPodSandbox({ config: sandboxConfig });
  if (stage === 'sandbox') return { ...world, podSandboxId };
  const { containerId } = await shim.runtime.createContainer({ podSandboxId, config, sandboxConfig });
  if (stage !== 'created') await shim.runtime.startContainer({ containerId });
  if (stage === 'exited') engine.end(containerId, 3);
  await fixture.logs.stop();
  return { ...world, podSandboxId, containerId };
}

interface Call {
  readonly stage: Stage;
  readonly run: (world: Fixture, options: CallOptions) => Promise<unknown>;
  /** How the kubelet goes on after a failure; the same call again unless given. */
  readonly retry?: (world: Fixture) => Promise<unknown>;
  /** Routes whose 404 means success: a missing object needs no stop or removal, and is pulled or left out. */
  readonly mayBeGone?: readonly string[];
}

/** For these only the status is read, so a malformed body after a good status does no harm. */
const unread: readonly string[] = [
  'POST /containers/ID/start',
  'POST /containers/ID/stop',
  'POST /containers/ID/update',
  'DELETE /containers/ID',
  'DELETE /images/ID',
];

function codeFor({ mayBeGone = [] }: Call, route: string, fault: DockerFault): string {
  if (fault === 'garbage' && unread.includes(route)) return 'OK';
  return fault === 404 && mayBeGone.includes(route) ? 'OK' : usualCodes[fault];
}

const image = { image: { image: IMAGE } };

async function first(stream: AsyncIterable<unknown>): Promise<unknown> {
  for await (const event of stream) return event;
  return undefined;
}

/** Removes what the failed call left, as the lists show it and as the kubelet does, and calls again. */
async function removeAndRun(world: Fixture): Promise<unknown> {
  const { items } = await world.runtime.listPodSandbox({});
  for (const { id } of items) {
    await world.runtime.stopPodSandbox({ podSandboxId: id });
    await world.runtime.removePodSandbox({ podSandboxId: id });
  }
  return world.runtime.runPodSandbox({ config: sandboxConfig });
}

async function removeAndCreate(world: Fixture): Promise<unknown> {
  const { containers } = await world.runtime.listContainers({});
  for (const { id } of containers) await world.runtime.removeContainer({ containerId: id });
  const { podSandboxId } = world;
  return world.runtime.createContainer({ podSandboxId, config, sandboxConfig });
}

const calls: Readonly<Record<string, Call>> = {
  version: { stage: 'nothing', run: ({ runtime }, options) => runtime.version({}, options) },
  status: { stage: 'sandbox', run: ({ runtime }, options) => runtime.status({}, options) },
  runtimeConfig: { stage: 'sandbox', run: ({ runtime }, options) => runtime.runtimeConfig({}, options) },
  runPodSandbox: {
    stage: 'nothing',
    run: ({ runtime }, options) => runtime.runPodSandbox({ config: sandboxConfig }, options),
    retry: removeAndRun,
  },
  stopPodSandbox: {
    stage: 'running',
    mayBeGone: ['GET /containers/ID/json', 'POST /containers/ID/stop'],
    run: ({ runtime, podSandboxId }, options) => runtime.stopPodSandbox({ podSandboxId }, options),
  },
  removePodSandbox: {
    stage: 'running',
    mayBeGone: ['GET /containers/ID/json', 'DELETE /containers/ID'],
    run: ({ runtime, podSandboxId }, options) => runtime.removePodSandbox({ podSandboxId }, options),
  },
  podSandboxStatus: {
    stage: 'sandbox',
    run: async ({ runtime, podSandboxId, fixture }, options) => {
      // Shortly after the start of a sandbox the shim does not ask Docker.
      await fixture.clock.advance(2000);
      return runtime.podSandboxStatus({ podSandboxId }, options);
    },
  },
  listPodSandbox: { stage: 'sandbox', run: ({ runtime }, options) => runtime.listPodSandbox({}, options) },
  createContainer: {
    stage: 'sandbox',
    run: ({ runtime, podSandboxId }, options) =>
      runtime.createContainer({ podSandboxId, config, sandboxConfig }, options),
    retry: removeAndCreate,
  },
  startContainer: {
    stage: 'created',
    run: ({ runtime, containerId }, options) => runtime.startContainer({ containerId }, options),
    retry: async (world) => {
      const { runtime, containerId } = world;
      const { status } = await runtime.containerStatus({ containerId });
      // It was started, and the answer was lost.
      if (status?.startedAt === 0n) await runtime.startContainer({ containerId });
    },
  },
  stopContainer: {
    stage: 'running',
    mayBeGone: ['POST /containers/ID/stop'],
    run: ({ runtime, containerId }, options) => runtime.stopContainer({ containerId, timeout: 1n }, options),
  },
  removeContainer: {
    stage: 'exited',
    mayBeGone: ['GET /containers/ID/json', 'DELETE /containers/ID'],
    run: ({ runtime, containerId }, options) => runtime.removeContainer({ containerId }, options),
  },
  containerStatus: {
    stage: 'running',
    mayBeGone: ['GET /images/ID/json'],
    run: ({ runtime, containerId }, options) => runtime.containerStatus({ containerId }, options),
  },
  listContainers: { stage: 'exited', run: ({ runtime }, options) => runtime.listContainers({}, options) },
  updateContainerResources: {
    stage: 'running',
    run: ({ runtime, containerId }, options) =>
      runtime.updateContainerResources({ containerId, linux: { memoryLimitInBytes: 5n } }, options),
  },
  reopenContainerLog: {
    stage: 'running',
    run: ({ runtime, containerId }, options) => runtime.reopenContainerLog({ containerId }, options),
  },
  containerStats: {
    stage: 'running',
    run: ({ runtime, containerId }, options) => runtime.containerStats({ containerId }, options),
  },
  listContainerStats: {
    stage: 'running',
    mayBeGone: ['GET /containers/ID/json', 'GET /containers/ID/stats'],
    run: ({ runtime }, options) => runtime.listContainerStats({}, options),
  },
  podSandboxStats: {
    stage: 'running',
    // Such a container is not in the list.
    mayBeGone: ['GET /containers/ID/json', 'GET /containers/ID/stats'],
    run: ({ runtime, podSandboxId }, options) => runtime.podSandboxStats({ podSandboxId }, options),
  },
  listPodSandboxStats: {
    stage: 'running',
    mayBeGone: ['GET /containers/ID/json', 'GET /containers/ID/stats'],
    run: ({ runtime }, options) => runtime.listPodSandboxStats({}, options),
  },
  listPodSandboxMetrics: {
    stage: 'running',
    mayBeGone: ['GET /containers/ID/json', 'GET /containers/ID/stats'],
    run: ({ runtime }, options) => runtime.listPodSandboxMetrics({}, options),
  },
  execSync: {
    stage: 'running',
    run: ({ runtime, containerId }, options) => runtime.execSync({ containerId, cmd: ['ls'], timeout: 5n }, options),
  },
  exec: {
    stage: 'running',
    run: ({ runtime, containerId }, options) => runtime.exec({ containerId, cmd: ['ls'] }, options),
  },
  attach: { stage: 'running', run: ({ runtime, containerId }, options) => runtime.attach({ containerId }, options) },
  portForward: {
    stage: 'sandbox',
    run: ({ runtime, podSandboxId }, options) => runtime.portForward({ podSandboxId }, options),
  },
  getContainerEvents: {
    stage: 'sandbox',
    mayBeGone: ['GET /containers/ID/json'],
    run: ({ runtime, fixture, podSandboxId }, options) => {
      fixture.engine.eventLines = [{ Action: 'die', Actor: { ID: podSandboxId } }];
      return first(runtime.getContainerEvents({}, options));
    },
  },
  listImages: { stage: 'sandbox', run: ({ images }, options) => images.listImages({}, options) },
  imageStatus: {
    stage: 'sandbox',
    mayBeGone: ['GET /images/ID/json'],
    run: ({ images }, options) => images.imageStatus(image, options),
  },
  pullImage: { stage: 'sandbox', run: ({ images }, options) => images.pullImage(image, options) },
  removeImage: {
    stage: 'sandbox',
    mayBeGone: ['DELETE /images/ID', 'GET /images/ID/json'],
    run: ({ images }, options) => images.removeImage(image, options),
  },
  imageFsInfo: { stage: 'sandbox', run: ({ images }, options) => images.imageFsInfo({}, options) },
};

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return codeName(error);
  }
}

/** The calls to Docker that a successful call makes, each once. */
async function routesOf({ stage, run }: Call): Promise<readonly string[]> {
  const world = await createWorld(stage);
  const begin = world.server.routes.length;
  await run(world, { signal: new AbortController().signal });
  const routes = world.server.routes.slice(begin);
  await close(world);
  return [...new Set(routes)];
}

async function close({ fixture, http, server }: Fixture): Promise<void> {
  await fixture.logs.stop();
  http.close();
  await server.close();
}

/** What is left after everything that the lists show was removed. */
async function leftoversOf({ fixture, runtime }: Fixture): Promise<readonly string[]> {
  const { engine, cni, records, clock, logs } = fixture;
  const { items } = await runtime.listPodSandbox({});
  for (const { id } of items) {
    await runtime.stopPodSandbox({ podSandboxId: id });
    await runtime.removePodSandbox({ podSandboxId: id });
  }
  await logs.stop();
  const attached = new Set<string>();
  for (const { environment } of cni.calls) {
    const id = environment['CNI_CONTAINERID'] ?? '';
    if (environment['CNI_COMMAND'] === 'ADD') attached.add(id);
    else attached.delete(id);
  }
  await clock.settle();
  return [
    ...engine.names.map((name) => `container ${name}`),
    ...records.texts.keys().map((id) => `record ${id}`),
    ...[...attached].map((id) => `address of ${id}`),
    ...(clock.armedTimers > 0 ? [`${clock.armedTimers} timers`] : []),
  ];
}

async function failOnce(call: Call, route: string, fault: DockerFault): Promise<string> {
  const world = await createWorld(call.stage);
  const { server, http, fixture } = world;
  const caller = new AbortController();
  server.onHang = () => caller.abort();
  server.fail(route, fault);
  try {
    const code = await codeOf(call.run(world, { signal: caller.signal }));
    assert.ok(server.isHit, 'the fault was not met');
    await server.heal();
    await (call.retry ?? ((again) => call.run(again, { signal: new AbortController().signal })))(world);
    assert.deepEqual(await leftoversOf(world), [], 'left behind');
    http.close();
    for (let count = 0; count < 50 && server.openSockets > 0; count += 1) await turn();
    assert.equal(server.openSockets, 0, 'connections to Docker');
    return code;
  } catch (error) {
    assert.fail(`${route} ${fault}: ${String(error)} ${JSON.stringify(fixture.engine.names)}`);
  } finally {
    await close(world);
  }
}

describe('a call of the CRI during which a call to Docker fails', () => {
  for (const [name, call] of Object.entries(calls))
    it(`${name} reports why, leaves nothing behind, and succeeds the next time`, async () => {
      const routes = await routesOf(call);
      assert.ok(routes.length > 0);
      const seen: Record<string, string> = {};
      const wanted: Record<string, string> = {};
      for (const route of routes)
        for (const fault of faults) {
          const key = `${route} ${fault}`;
          seen[key] = await failOnce(call, route, fault);
          wanted[key] = codeFor(call, route, fault);
        }
      assert.deepEqual(seen, wanted);
    });
});
