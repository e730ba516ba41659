import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import {
  ContainerState,
  CreateContainerRequest,
  LinuxContainerResources,
  RunPodSandboxRequest,
} from '../../cri/generated/cri-v1.ts';
import { FakeDockerEngine } from './testing/fake-docker-engine.ts';
import { createShimFixture } from './testing/shim-fixture.ts';
import { containerEvents } from './container-events.ts';
import { ContainerStatsReader } from './container-stats.ts';
import { resumeLogs } from './containers.ts';
import { execSync } from './exec-sync.ts';

const metadata = { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 };
const LOG = '/logs/app/0.log';
const TIME = '2026-11-23T00:00:01.000000001Z';

function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head[0] = 1;
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

async function running(made = new FakeDockerEngine()) {
  const fixture = createShimFixture(made);
  const { sandboxes, containers } = fixture;
  const sandboxConfig = { metadata, logDirectory: '/logs' };
  const podSandboxId = await sandboxes.run(RunPodSandboxRequest.fromPartial({ config: sandboxConfig }));
  const config = {
    metadata: { name: 'app', attempt: 0 },
    image: { image: 'web:1' },
    logPath: 'app/0.log',
    mounts: [{ hostPath: '/host/a', containerPath: '/a' }],
  };
  const id = await containers.create(CreateContainerRequest.fromPartial({ podSandboxId, config, sandboxConfig }));
  return { ...fixture, podSandboxId, id };
}

async function settle(): Promise<void> {
  for (let index = 0; index < 30; index += 1) await turn();
}

describe('a container', () => {
  it('has its mount sources created first', async () => {
    const { made, engine, id } = await running();
    assert.deepEqual(made, ['/host/a']);
    assert.equal(engine.containers.get(id)?.name, 'k8s_app_web_ns_u_0');
  });

  it('needs its sandbox', async () => {
    const { containers } = createShimFixture();
    const request = CreateContainerRequest.fromPartial({
      podSandboxId: 'gone',
      config: { metadata: { name: 'app' } },
      sandboxConfig: { metadata },
    });
    await assert.rejects(containers.create(request), { kind: 'NotFound' });
    await assert.rejects(containers.create({ ...request, podSandboxId: '' }), { kind: 'Invalid' });
  });

  it('that is gone counts as stopped and removed', async () => {
    const { containers } = createShimFixture();
    await containers.stop('gone', 5);
    await containers.remove('gone');
    await assert.rejects(containers.status('gone', false), { kind: 'NotFound' });
  });

  it('is listed by state, sandbox and labels', async () => {
    const { containers, podSandboxId, id } = await running();
    const ids = async (filter: object): Promise<readonly string[]> =>
      (await containers.list({ id: '', state: undefined, podSandboxId: '', labelSelector: {}, ...filter })).map(
        (each) => each.id,
      );
    assert.deepEqual(await ids({ podSandboxId }), [id]);
    assert.deepEqual(await ids({ podSandboxId: 'other' }), []);
    assert.deepEqual(await ids({ state: { state: ContainerState.CONTAINER_RUNNING } }), []);
    await containers.start(id);
    assert.deepEqual(await ids({ state: { state: ContainerState.CONTAINER_RUNNING } }), [id]);
  });

  it("is created and started without asking Docker about the shim's own containers", async () => {
    const asked: string[] = [];
    const engine = new FakeDockerEngine();
    const inspect = engine.inspectContainer.bind(engine);
    engine.inspectContainer = (id) => {
      asked.push(id);
      return inspect(id);
    };
    const { containers, podSandboxId, id } = await running(engine);
    await containers.start(id);
    // The process id of the sandbox, for its network.
    assert.deepEqual(asked, [podSandboxId]);
  });

  it('starts once: each restart is a new container', async () => {
    const { containers, engine, id } = await running();
    await containers.start(id);
    engine.end(id);
    await assert.rejects(containers.start(id), { kind: 'Invalid', message: /state exited/ });
  });

  it('takes new limits of memory and swap together', async () => {
    const { containers, engine, id } = await running();
    await containers.update(id, LinuxContainerResources.fromPartial({ memoryLimitInBytes: 50n }));
    assert.equal(engine.calls.at(-1), 'update k8s_app_web_ns_u_0 {"Memory":50,"MemorySwap":50}');
  });
});

describe('a container log', () => {
  it('is complete before the end of the container is reported', async () => {
    const { containers, engine, files, id } = await running();
    const log = new PassThrough();
    engine.logs.set(id, [log]);
    await containers.start(id);
    log.write(frame(`${TIME} one\n`));
    await settle();
    engine.end(id, 3);
    let isAnswered = false;
    const status = containers.status(id, false).finally(() => (isAnswered = true));
    await settle();
    assert.equal(isAnswered, false);
    log.end(frame(`${TIME} two\n`));
    assert.equal((await status).status?.exitCode, 3);
    assert.equal(files.texts.get(LOG), `${TIME} stdout F one\n${TIME} stdout F two\n`);
  });

  it('gets the last lines that Docker left out', async () => {
    const { containers, engine, files, id } = await running();
    const followed = new PassThrough();
    engine.logs.set(id, [followed, new PassThrough().end(frame(`${TIME} one\n`)), new PassThrough().end()]);
    await containers.start(id);
    await settle();
    engine.end(id);
    followed.end();
    await containers.status(id, false);
    assert.equal(files.texts.get(LOG), `${TIME} stdout F one\n`);
    assert.deepEqual(engine.logRequests, ['0', '0 to the end']);
  });

  it('that does not end delays nothing for long', async () => {
    const { containers, engine, clock, id } = await running();
    engine.logs.set(id, [new PassThrough()]);
    await containers.start(id);
    await settle();
    engine.end(id);
    const status = containers.status(id, false);
    await settle();
    await clock.advance(10_000);
    assert.equal((await status).status?.state, ContainerState.CONTAINER_EXITED);
    // Waiting once is enough.
    assert.equal((await containers.list(undefined)).length, 1);
  });

  it('is complete before a list shows that the container ended', async () => {
    const { containers, engine, files, id } = await running();
    const log = new PassThrough();
    engine.logs.set(id, [log]);
    await containers.start(id);
    await settle();
    engine.end(id);
    let isListed = false;
    const list = containers.list(undefined).finally(() => (isListed = true));
    await settle();
    assert.equal(isListed, false);
    log.end(frame(`${TIME} last\n`));
    assert.equal((await list)[0]?.state, ContainerState.CONTAINER_EXITED);
    assert.equal(files.texts.get(LOG), `${TIME} stdout F last\n`);
  });

  it('continues at the end of the file after Docker ended the stream', async () => {
    const { containers, engine, files, clock, id } = await running();
    const first = new PassThrough();
    const second = new PassThrough();
    engine.logs.set(id, [first, second]);
    await containers.start(id);
    first.write(frame(`${TIME} one\n`));
    await settle();
    files.ends.set(LOG, { time: TIME, lines: 1 });
    first.destroy(new Error('dockerd was killed'));
    await settle();
    await clock.advance(100);
    await settle();
    assert.deepEqual(engine.logRequests, ['0', '1795392001.000000001']);
    second.write(frame(`${TIME} one\n`));
    second.write(frame(`${TIME} two\n`));
    await settle();
    assert.equal(files.texts.get(LOG), `${TIME} stdout F one\n${TIME} stdout F two\n`);
  });

  it('survives a full disk: the lines that Docker keeps are written later', async () => {
    const { containers, engine, files, clock, id } = await running();
    const [first, second] = [new PassThrough(), new PassThrough()];
    engine.logs.set(id, [first, second]);
    await containers.start(id);
    files.failure = new KubeletError('Internal', 'ENOSPC');
    first.write(frame(`${TIME} one\n`));
    await settle();
    await clock.advance(100);
    await settle();
    second.write(frame(`${TIME} one\n`));
    await settle();
    assert.equal(files.texts.get(LOG), `${TIME} stdout F one\n`);
  });

  it('is opened again after the kubelet renamed it', async () => {
    const { containers, engine, files, id } = await running();
    const log = new PassThrough();
    engine.logs.set(id, [log]);
    await containers.start(id);
    await settle();
    const before = files.opened;
    await containers.reopenLog(id);
    assert.equal(files.opened, before + 1);
    log.write(frame(`${TIME} one\n`));
    await settle();
    assert.equal(files.texts.get(LOG), `${TIME} stdout F one\n`);
  });

  it('cannot be opened again for a container that does not run', async () => {
    const { containers, id } = await running();
    await assert.rejects(containers.reopenLog(id), { kind: 'Invalid' });
  });

  it('is continued by the next shim, also for containers that ended meanwhile', async () => {
    const { containers, engine, files, logs, id } = await running();
    await containers.start(id);
    await logs.stop();
    engine.end(id);
    engine.logs.set(id, [new PassThrough().end(frame(`${TIME} late\n`))]);
    await resumeLogs({ engine, logs }, (_id, words) => assert.fail(words));
    await logs.settled(id, 1000);
    assert.equal(files.texts.get(LOG), `${TIME} stdout F late\n`);
  });
});

describe('the logs of many containers that ended while the shim was stopped', () => {
  it('are completed a few at a time, after those of running containers', async () => {
    const { engine, logs, containers, id } = await running();
    await containers.start(id);
    await logs.stop();
    const labels = { ...engine.containers.get(id)?.body.Labels };
    for (let index = 0; index < 1000; index += 1) {
      const dead = await engine.createContainer(`k8s_dead_web_ns_u_${index}`, {
        Image: 'x',
        Labels: labels,
        HostConfig: {},
      });
      engine.end(dead);
    }
    let open = 0;
    let most = 0;
    const followed: string[] = [];
    engine.readLogs = async (readId) => {
      followed.push(readId);
      const isDead = readId !== id;
      if (isDead) open += 1;
      most = Math.max(most, open);
      return (async function* () {
        await new Promise((resolve) => setImmediate(resolve));
        if (isDead) open -= 1;
        else if (engine.containers.get(id)?.state === 'running') engine.end(id);
        yield* [];
      })();
    };
    await resumeLogs({ engine, logs }, (_id, words) => assert.fail(words));
    assert.equal(new Set(followed).size, 1001);
    assert.equal(followed[0], id);
    assert.ok(most <= 8, String(most));
  });
});

describe('a command in a container', () => {
  it('gives its output and exit code', async () => {
    const { engine, host, clock, id } = await running();
    engine.execs = { stdout: frame('out'), exitCode: 4 };
    const { stdout, exitCode } = await execSync({ engine, host, clock }, { containerId: id, cmd: ['x'], timeoutS: 1 });
    assert.deepEqual([Buffer.from(stdout).toString(), exitCode], ['out', 4]);
  });

  it('has its output cut at 16 MiB of each stream, and still reports its exit code', async () => {
    const { engine, host, clock, id } = await running();
    const most = 16 * 1024 * 1024;
    const piece = frame('x'.repeat(1024 * 1024));
    const error = Buffer.from(piece);
    error[0] = 2;
    const stdout = Buffer.concat([
      ...Array.from({ length: 17 }, () => piece),
      ...Array.from({ length: 18 }, () => error),
    ]);
    engine.execs = { stdout, exitCode: 7 };
    const answer = await execSync({ engine, host, clock }, { containerId: id, cmd: ['yes'], timeoutS: 5 });
    assert.deepEqual([answer.stdout.length, answer.stderr.length, answer.exitCode], [most, most, 7]);
    assert.equal(clock.armedTimers, 0);
  });

  it('is killed at its deadline: Docker would let it run', async () => {
    const { engine, host, clock, killed, id } = await running();
    engine.execs = { stdout: Buffer.alloc(0), exitCode: 0, hangs: true };
    const run = execSync({ engine, host, clock }, { containerId: id, cmd: ['sleep', '9'], timeoutS: 2 });
    const refused = assert.rejects(run, { kind: 'Timeout', message: /"sleep 9" timed out after 2 s/ });
    await settle();
    await clock.advance(2000);
    await refused;
    assert.deepEqual(killed, ['99 of c']);
  });

  it('is killed when its caller aborts', async () => {
    const { engine, host, clock, killed, id } = await running();
    engine.execs = { stdout: Buffer.alloc(0), exitCode: 0, hangs: true };
    const caller = new AbortController();
    const run = execSync({ engine, host, clock }, { containerId: id, cmd: ['x'], timeoutS: 0 }, caller.signal);
    const refused = assert.rejects(run);
    await settle();
    caller.abort();
    await refused;
    assert.deepEqual(killed, ['99 of c']);
  });
});

describe('events', () => {
  it('carry the current state of the pod', async () => {
    const { engine, containers, sandboxes, podSandboxId, id, clock } = await running();
    await containers.start(id);
    engine.end(id, 5);
    const attributes = { 'io.kubernetes.sandbox.id': podSandboxId };
    engine.eventLines = [
      { Action: 'exec_die', Actor: { ID: id, Attributes: attributes } },
      { Action: 'die', Actor: { ID: id, Attributes: attributes }, timeNano: 7 },
    ];
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of containerEvents({ engine, containers, sandboxes, clock }, new AbortController().signal))
        seen.push([
          event.containerId,
          event.containerEventType,
          event.podSandboxStatus?.id,
          event.containersStatuses.map(({ exitCode }) => exitCode),
        ]);
    };
    await assert.rejects(read(), { kind: 'Unavailable' });
    assert.deepEqual(seen, [[id, 2, podSandboxId, [5]]]);
  });

  it('of one pod that arrive together ask Docker once, and all are reported', async () => {
    const { engine, containers, sandboxes, podSandboxId, id, clock } = await running();
    const attributes = { 'io.kubernetes.sandbox.id': podSandboxId };
    engine.eventLines = ['create', 'start', 'die'].map((Action) => ({
      Action,
      Actor: { ID: id, Attributes: attributes },
    }));
    let asked = 0;
    const counted = {
      status: (...of: Parameters<typeof sandboxes.status>) => ((asked += 1), sandboxes.status(...of)),
      remove: (each: string) => sandboxes.remove(each),
    };
    const types: number[] = [];
    await assert.rejects(async () => {
      const parts = { engine, containers, sandboxes: counted, clock };
      for await (const event of containerEvents(parts, new AbortController().signal))
        types.push(event.containerEventType);
    });
    assert.deepEqual([types, asked < types.length], [[0, 1, 2], true]);
  });

  it('of a sandbox that was removed by another client free its network', async () => {
    const { engine, containers, sandboxes, podSandboxId, cni, records, clock } = await running();
    engine.containers.clear();
    cni.calls.length = 0;
    engine.eventLines = [{ Action: 'destroy', Actor: { ID: podSandboxId } }];
    const events = containerEvents({ engine, containers, sandboxes, clock }, new AbortController().signal);
    await events[Symbol.asyncIterator]().next();
    assert.deepEqual([cni.steps, records.texts.size], [['DEL portmap', 'DEL bridge'], 0]);
  });

  it('of a pod that is gone carry the remaining data', async () => {
    const { engine, containers, sandboxes, clock } = createShimFixture();
    engine.eventLines = [{ Action: 'destroy', Actor: { ID: 'x' } }];
    const iterator = containerEvents({ engine, containers, sandboxes, clock }, new AbortController().signal)[
      Symbol.asyncIterator
    ]();
    const { value } = await iterator.next();
    assert.deepEqual(
      [value?.containerEventType, value?.podSandboxStatus, value?.containersStatuses],
      [3, undefined, []],
    );
  });
});

describe('statistics', () => {
  it('leave out containers that do not run, and separate memory that can be reclaimed', async () => {
    const { engine, clock, containers, id } = await running();
    const reader = new ContainerStatsReader({ engine, clock });
    assert.deepEqual(await reader.readAll(await containers.list(undefined), '/docker'), []);
    await containers.start(id);
    const [stats] = await reader.readAll(await containers.list(undefined), '/docker');
    assert.equal(stats?.memory?.workingSetBytes?.value, 700n);
    assert.equal(stats?.cpu?.usageCoreNanoSeconds?.value, 5_000_000n);
    assert.equal(stats?.cpu?.usageNanoCores, undefined);
    assert.equal(stats?.writableLayer?.usedBytes?.value, 10n);
  });
});

describe('images', () => {
  it("report the registry's error message when it refuses a pull", async () => {
    const { images, engine } = createShimFixture();
    engine.pullLines = [{ status: 'Pulling' }, { error: 'manifest for web:9 not found: manifest unknown' }];
    await assert.rejects(images.pull('web:9', undefined), { kind: 'NotFound', message: /web:9.*manifest unknown/ });
    engine.pullLines = [{ error: 'connection refused' }];
    await assert.rejects(images.pull('web:9', undefined), { kind: 'Unavailable' });
  });

  it('are aborted when a pull makes no progress', async () => {
    const { images, engine, clock } = createShimFixture();
    engine.pullHangs = true;
    const pull = images.pull('web:9', undefined);
    const refused = assert.rejects(pull, { kind: 'Timeout', message: /no progress for 60 s/ });
    await settle();
    await clock.advance(60_000);
    await refused;
  });

  it('are removed with all their names', async () => {
    const { images, engine } = createShimFixture();
    const image = { Id: 'sha256:1', RepoTags: ['a:1', 'b:1'], RepoDigests: [] };
    for (const name of ['a:1', 'b:1', 'sha256:1']) engine.images.set(name, image);
    await images.remove('a:1');
    await images.remove('a:1');
    assert.deepEqual(engine.calls, ['remove image a:1', 'remove image b:1', 'remove image sha256:1']);
    assert.equal((await images.status('a:1', false)).image, undefined);
  });

  it('of sandboxes are pinned', async () => {
    const { images } = createShimFixture();
    assert.equal((await images.status('pause:1', false)).image?.pinned, true);
  });
});
