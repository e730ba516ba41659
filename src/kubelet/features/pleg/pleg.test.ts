import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog, type RecordingLog } from '../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../base/random.ts';
import { errorKind } from '../../../base/errors.ts';
import { containerId, podUid, type ContainerId } from '../../model/ids.ts';
import type { EventSourceKind } from '../../ports/runtime.ts';
import { buildContainerConfig, buildSandboxConfig, runPod } from '../../ports/testing/runtime-builders.ts';
import { FakeRuntime, type FakeRuntimeOptions } from '../../ports/testing/fake-runtime.ts';
import { Pleg, type PlegOptions } from './pleg.ts';
import { RuntimeCache } from './runtime-cache.ts';

const IMAGE = 'example/app:1';
const UID = podUid('a');

interface World {
  clock: FakeClock;
  runtime: FakeRuntime;
  cache: RuntimeCache;
  pleg: Pleg;
  /** Monotonic time of the start of the PLEG. */
  startedMs: number;
  log: RecordingLog;
  /** Kinds of the events told so far, with their origin when it is the agent itself. */
  told: string[];
  /** Runtime calls by name since the last time asked. */
  calls: () => Record<string, number>;
  run: <T>(work: Promise<T>) => Promise<T>;
  pod: (uid?: string, containers?: readonly string[]) => Promise<ContainerId[]>;
}

async function setUp(
  options: Partial<FakeRuntimeOptions> & {
    sources?: readonly EventSourceKind[];
    annotations?: Record<string, string>;
    terminationMessage?: PlegOptions['terminationMessage'];
    before?: (world: World) => Promise<void>;
  } = {},
): Promise<World> {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: [IMAGE], ...options });
  const log = recordingLog();
  const cache = new RuntimeCache(clock);
  const told: string[] = [];
  const pleg = new Pleg({
    clock,
    random: seededRandom(1),
    log,
    runtime,
    sources: (options.sources ?? ['cri']).map((kind) => runtime.eventSource(kind)),
    cache,
    ...(options.terminationMessage === undefined ? {} : { terminationMessage: options.terminationMessage }),
    onEvent: (event, origin) => void told.push(origin === 'own' ? `own ${event.kind}` : event.kind),
  });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = (): void => void (done = true);
    work.then(end, end);
    assert.ok(await clock.advanceUntil(() => done, 600_000), 'the work ends');
    return work;
  };
  const calls = (): Record<string, number> => {
    const counts = Object.fromEntries(runtime.journal.callCounts);
    runtime.journal.callCounts.clear();
    return counts;
  };
  const pod = async (uid = 'a', containers: readonly string[] = ['main']): Promise<ContainerId[]> =>
    (
      await run(
        runPod(
          runtime,
          { uid },
          containers.map((name) => ({ name, image: IMAGE })),
          { annotations: options.annotations ?? {} },
        ),
      )
    ).containers;
  const world: World = { clock, runtime, cache, pleg, startedMs: 0, log, told, calls, run, pod };
  await options.before?.(world);
  world.startedMs = clock.monotonicMs();
  pleg.start();
  await run(pleg.whenAdopted());
  calls();
  told.splice(0);
  return world;
}

const states = ({ cache }: World, uid = UID): string[] =>
  cache.get(uid)?.containers.map((container) => `${container.name} ${container.state}`) ?? [];

test('pods that run already are adopted by two lists and one status call per sandbox and container', async () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({
    clock,
    images: [IMAGE],
    latencies: { listSandboxes: 5, listContainers: 5, sandboxStatus: 2, containerStatus: 2 },
  });
  await Promise.all([
    ...Array.from({ length: 110 }, (_, index) =>
      runPod(runtime, { uid: `pod-${index}` }, [
        { name: 'one', image: IMAGE },
        { name: 'two', image: IMAGE },
      ]),
    ),
    clock.advance(5000),
  ]);
  runtime.journal.clear();
  const cache = new RuntimeCache(clock);
  const pleg = new Pleg({
    clock,
    random: seededRandom(1),
    log: recordingLog(),
    runtime,
    sources: [runtime.eventSource('cri')],
    cache,
    onEvent: () => undefined,
  });
  const startMs = clock.monotonicMs();
  pleg.start();
  let adoptedMs = -1;
  void pleg.whenAdopted().then(() => (adoptedMs = clock.monotonicMs() - startMs));
  await clock.advance(1000);
  // The stream opens during the first relist and asks for a second one: what happened before it stood is not announced.
  assert.deepEqual(Object.fromEntries(runtime.journal.callCounts), {
    listSandboxes: 2,
    listContainers: 2,
    sandboxStatus: 110,
    containerStatus: 220,
  });
  assert.ok(adoptedMs > 0 && adoptedMs <= 5 + 2 * Math.ceil(110 / 16), `adopted after ${adoptedMs} ms`);
  assert.equal(cache.podCount, 110);
  assert.deepEqual(runtime.journal.writes, []);
  await pleg.stop();
});

test('an idle node with a stream costs two lists a minute and nothing else', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  await world.clock.advance(600_000);
  const calls = world.calls();
  assert.deepEqual(Object.keys(calls).sort(), ['listContainers', 'listSandboxes']);
  assert.ok((calls.listContainers ?? 0) <= 11);
  assert.deepEqual(world.told, []);
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit announced by ${kind} events that do not show it is in the cache as soon as the runtime does`, async () => {
    const annotations = { 'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError' };
    const world = await setUp({
      sources: [kind],
      annotations,
      exitLagMs: 12,
      before: async (early) => void (await early.pod()),
    });
    const [container] = world.runtime.containers('a');
    world.runtime.killContainer(container?.id ?? '', { exitCode: 9 });
    await world.clock.advance(11);
    assert.deepEqual(states(world), ['main running']);
    await world.clock.advance(5);
    assert.deepEqual(
      [states(world), world.cache.get(UID)?.containers[0]?.exitCode, world.told],
      [['main exited'], 9, ['ContainerDied']],
    );
    assert.deepEqual(Object.keys(world.calls()), ['containerStatus'], 'one container is looked at, not the pod');
    await world.pleg.stop();
  });
}

test('a CRI event that shows the exit itself needs no call at once; the runtime is asked once, later, for what it knows besides', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.settle();
  assert.deepEqual([states(world), world.calls(), world.told], [['main exited'], {}, ['ContainerDied']]);
  await world.clock.advance(5000);
  assert.deepEqual(world.calls(), { containerStatus: 1 });
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit that only ${kind} events told is asked for when the pod is read whole, and once`, async () => {
    const world = await setUp({ sources: [kind], before: async (early) => void (await early.pod()) });
    world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
    await world.clock.settle();
    assert.deepEqual([states(world), world.calls()], [['main exited'], {}]);
    await world.run(world.pleg.refresh(UID));
    assert.equal(world.calls().containerStatus, 1);
    await world.run(world.pleg.refresh(UID));
    assert.equal(world.calls().containerStatus, undefined);
    await world.pleg.stop();
  });
}

test('a containerd event brings the exit itself; the runtime is asked once, later, for what it knows besides', async () => {
  const world = await setUp({
    sources: ['containerd'],
    exitLagMs: 30,
    before: async (early) => void (await early.pod()),
  });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { exitCode: 3 });
  await world.clock.settle();
  const exit = world.cache.get(UID)?.containers[0];
  assert.deepEqual(
    [exit?.state, exit?.exitCode, exit?.reason, exit?.finishedAtMs, world.calls()],
    ['exited', 3, 'Error', world.clock.nowMs(), {}],
  );
  await world.clock.advance(5000);
  assert.deepEqual(
    [world.cache.get(UID)?.containers[0], world.calls(), world.told],
    [exit, { containerStatus: 1 }, ['ContainerDied']],
  );
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit that ${kind} events tell is not heard of without its message`, async () => {
    const seen: string[] = [];
    const world = await setUp({
      sources: [kind],
      before: async (early) => void (await early.pod()),
      terminationMessage: async ({ state, exitCode }) => `${state} with ${exitCode}`,
    });
    world.cache.onChange(
      ({ after }) => void seen.push(...(after?.containers ?? []).map(({ state, message }) => `${state}: ${message}`)),
    );
    world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { exitCode: 3 });
    await world.clock.settle();
    await world.clock.advance(5000);
    assert.deepEqual([seen, world.told], [['exited: exited with 3'], ['ContainerDied']]);
    await world.pleg.stop();
  });

  test(`a message that cannot be read holds up no exit that ${kind} events tell`, async () => {
    const world = await setUp({
      sources: [kind],
      before: async (early) => void (await early.pod('a', ['hangs', 'fails'])),
      terminationMessage: ({ name }) =>
        name === 'hangs' ? new Promise(() => undefined) : Promise.reject(new Error('no')),
    });
    for (const { id } of world.runtime.containers('a')) world.runtime.killContainer(id);
    await world.clock.settle();
    await world.clock.advance(1000);
    assert.deepEqual(states(world).sort(), ['fails exited', 'hangs exited']);
    await world.pleg.stop();
  });
}

test('after an OOM kill the runtime is asked for the reason', async () => {
  const world = await setUp({
    sources: ['containerd'],
    exitLagMs: 12,
    before: async (early) => void (await early.pod()),
  });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { oomKilled: true });
  await world.clock.advance(1000);
  assert.deepEqual([world.cache.get(UID)?.containers[0]?.reason, world.told], ['OOMKilled', ['ContainerDied']]);
  await world.pleg.stop();
});

test("an OOM kill that was told before the runtime's answers know it is asked for until they do, though they show the exit", async () => {
  for (const oomLagMs of [100, 600]) {
    const world = await setUp({ sources: ['containerd'], oomLagMs, before: async (early) => void (await early.pod()) });
    world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { oomKilled: true });
    await world.clock.advance(50);
    assert.equal(world.cache.get(UID)?.containers[0]?.reason, 'Error');
    await world.clock.advance(3000);
    assert.deepEqual(
      [world.cache.get(UID)?.containers[0]?.reason, world.told],
      ['OOMKilled', ['ContainerDied', 'ContainerChanged']],
    );
    await world.pleg.stop();
  }
});

test("the agent's own results are in the cache at once, told as its own, and not read again", async () => {
  const world = await setUp();
  const { runtime, cache, run, clock } = world;
  const pod = { uid: 'a' };
  const sandbox = await run(runtime.runSandbox(buildSandboxConfig(pod), ''));
  cache.noteSandbox(await runtime.sandboxStatus(sandbox));
  const id = await run(
    runtime.createContainer(
      sandbox,
      buildContainerConfig(pod, { name: 'main', image: IMAGE }),
      buildSandboxConfig(pod),
    ),
  );
  await run(runtime.startContainer(id));
  cache.noteContainer({ uid: UID, name: 'pod-a', namespace: 'default' }, await runtime.containerStatus(id));
  assert.deepEqual([states(world), world.told], [['main running'], ['own SandboxChanged', 'own ContainerStarted']]);
  world.calls();
  await clock.advance(5000);
  assert.deepEqual(world.calls(), {});
  await world.pleg.stop();
});

test("an exit announced before the agent's own result came is looked at as soon as it comes", async () => {
  const world = await setUp({ sources: ['containerd'] });
  const { runtime, cache, run, clock } = world;
  const pod = { uid: 'a' };
  const sandbox = await run(runtime.runSandbox(buildSandboxConfig(pod), ''));
  cache.noteSandbox(await runtime.sandboxStatus(sandbox));
  const id = await run(
    runtime.createContainer(
      sandbox,
      buildContainerConfig(pod, { name: 'main', image: IMAGE }),
      buildSandboxConfig(pod),
    ),
  );
  await run(runtime.startContainer(id));
  const early = await runtime.containerStatus(id);
  runtime.killContainer(id);
  await clock.advance(100);
  cache.noteContainer({ uid: UID, name: 'pod-a', namespace: 'default' }, early);
  await clock.settle();
  assert.deepEqual(states(world), ['main exited']);
  await world.pleg.stop();
});

test('a pod made by somebody else is found by its labels, a container without them is asked about once', async () => {
  const world = await setUp({ sources: ['containerd'] });
  const { runtime, clock, run } = world;
  await world.pod('b');
  const foreign = buildSandboxConfig({ uid: 'foreign' }, { labels: {} });
  const id = await run(runtime.runSandbox(foreign, ''));
  await clock.advance(1000);
  assert.deepEqual(states(world, podUid('b')), ['main running']);
  world.calls();
  runtime.killSandbox(id);
  await clock.advance(1000);
  assert.deepEqual([world.calls(), world.cache.podCount], [{}, 1]);
  await world.pleg.stop();
});

test('lost events are made good by the safety net', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.events.drop();
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.advance(10_000);
  assert.deepEqual(states(world), ['main running']);
  await world.clock.advance(60_000);
  assert.deepEqual([states(world), world.told], [['main exited'], ['ContainerDied']]);
  await world.pleg.stop();
});

test('late, doubled and reordered events change nothing that is known better', async () => {
  for (const kind of ['cri', 'containerd'] as const) {
    const world = await setUp({ sources: [kind] });
    const { runtime, clock } = world;
    runtime.behaviour('main', { exitAfterMs: 50, exitCode: 4 });
    runtime.events.duplicate();
    runtime.events.reorder(5);
    await world.pod();
    await clock.advance(5000);
    assert.deepEqual(
      [
        states(world),
        world.cache.get(UID)?.sandboxes.map((sandbox) => sandbox.ready),
        world.cache.get(UID)?.containers[0]?.exitCode,
      ],
      [['main exited'], [true], 4],
    );
    runtime.events.delay(30_000);
    runtime.removeSandboxByHand(runtime.sandboxes('a')[0]?.id ?? '');
    await world.run(world.pleg.refresh(UID));
    assert.equal(world.cache.get(UID), undefined);
    await clock.advance(40_000);
    assert.equal(world.cache.get(UID), undefined, `a late ${kind} event revived the pod`);
    await world.pleg.stop();
  }
});

test('an answer from before a change does not undo it', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  const { runtime, clock, pleg } = world;
  runtime.staleRead('containerStatus', 500, { times: 1 });
  const slow = pleg.refresh(UID);
  await clock.advance(100);
  runtime.killContainer(runtime.containers('a')[0]?.id ?? '', { exitCode: 5 });
  await clock.advance(1000);
  await slow;
  assert.deepEqual(
    [states(world), world.cache.get(UID)?.containers[0]?.exitCode, world.told],
    [['main exited'], 5, ['ContainerDied']],
  );
  await pleg.stop();
});

test('an exit record survives a runtime that forgets it', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  const { runtime, clock, pleg } = world;
  const record = runtime.containers('a')[0];
  assert.ok(record);
  runtime.killContainer(record.id, { exitCode: 0 });
  await clock.settle();
  record.state = 'unknown';
  record.listed = record.status = undefined;
  await world.run(pleg.refresh(UID));
  await clock.advance(120_000);
  assert.deepEqual(
    [states(world), world.cache.get(UID)?.containers[0]?.exitCode, world.cache.get(UID)?.containers[0]?.reason],
    [['main exited'], 0, 'Completed'],
  );
  await pleg.stop();
});

test('without a stream the node is listed each second, and an exit is seen by the next list', async () => {
  const world = await setUp({ sources: [], before: async (early) => void (await early.pod()) });
  await world.clock.advance(10_000);
  const lists = world.calls().listContainers ?? 0;
  assert.ok(lists >= 9 && lists <= 11, `${lists} lists`);
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.advance(1100);
  assert.deepEqual(states(world), ['main exited']);
  await world.pleg.stop();
});

test("a runtime without CRI events is followed by containerd's", async () => {
  const world = await setUp({
    sources: ['cri', 'containerd'],
    before: ({ runtime }) => Promise.resolve(runtime.events.unsupported('cri')),
  });
  assert.equal(world.pleg.streamKind, 'containerd');
  await world.pleg.stop();
});

test('a broken stream is replaced by polling, and comes back by itself with what was missed', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  const { runtime, clock, pleg } = world;
  runtime.restart({ downMs: 20_000 });
  await clock.advance(1000);
  assert.equal(pleg.streamKind, undefined);
  runtime.killContainer(runtime.containers('a')[0]?.id ?? '');
  await clock.advance(18_000);
  assert.deepEqual(states(world), ['main running'], 'nothing is known while the runtime is away');
  await clock.advance(2200);
  assert.deepEqual(states(world), ['main exited']);
  await clock.advance(15_000);
  assert.equal(pleg.streamKind, 'cri');
  assert.deepEqual(world.log.lines.filter((line) => line.level === 'error').length, 1, 'one outage, one line');
  await pleg.stop();
});

test('a stream that breaks a thousand times is still tried', async () => {
  const world = await setUp();
  for (let round = 0; round < 1000; round++) {
    world.runtime.events.disconnect();
    await world.clock.advance(20_000);
    assert.equal(world.pleg.streamKind, 'cri');
  }
  await world.pleg.stop();
});

test("a newer runtime's CRI events are taken up when the old stream ends", async () => {
  const world = await setUp({
    sources: ['cri', 'containerd'],
    before: ({ runtime }) => Promise.resolve(runtime.events.unsupported('cri')),
  });
  world.runtime.events.unsupported('cri', false);
  world.runtime.restart({ downMs: 1000 });
  await world.clock.advance(30_000);
  assert.equal(world.pleg.streamKind, 'cri');
  await world.pleg.stop();
});

test('one pod whose inspection hangs delays no other and is retried', async () => {
  const hung = podUid('hung');
  const world = await setUp({
    before: async (early) => {
      await early.pod('hung');
      for (let index = 0; index < 30; index++) await early.pod(`pod-${index}`);
      early.runtime.hang('containerStatus', { times: 2, match: (target) => target.podUid === 'hung' });
    },
  });
  assert.ok(world.clock.monotonicMs() - world.startedMs <= 1000, 'adoption does not wait for it');
  assert.deepEqual(
    [
      world.cache.podCount,
      world.cache.isRead(hung),
      world.cache.isRead(podUid('pod-3')),
      world.cache.isRead(podUid('new')),
    ],
    [30, false, true, true],
  );
  // What the list tells of it is enough not to start another of its name.
  assert.deepEqual([...world.cache.unread()], [{ uid: hung, name: 'pod-hung', namespace: 'default' }]);
  await world.clock.advance(10_000);
  assert.equal(errorKind(world.cache.troubleOf(hung)?.error), 'Timeout');
  assert.equal(world.pleg.health().ok, true);
  world.runtime.killContainer(world.runtime.containers('pod-3')[0]?.id ?? '');
  await world.clock.settle();
  assert.deepEqual(states(world, podUid('pod-3')), ['main exited']);
  await world.clock.advance(30_000);
  assert.deepEqual(
    [states(world, hung), world.cache.troubleOf(hung), world.cache.isRead(hung)],
    [['main running'], undefined, true],
  );
  await world.pleg.stop();
});

test('twenty hung pods give their slots back', async () => {
  const world = await setUp({ sources: [] });
  for (let index = 0; index < 20; index++) await world.pod(`hung-${index}`);
  await world.clock.advance(2000);
  world.runtime.hang('containerStatus', { match: (target) => target.podUid?.startsWith('hung') === true });
  const stuck = Array.from({ length: 20 }, (_, index) =>
    world.pleg.refresh(podUid(`hung-${index}`)).catch(() => undefined),
  );
  await world.pod('fine');
  const startMs = world.clock.monotonicMs();
  await world.run(world.pleg.refresh(podUid('fine')));
  assert.ok(world.clock.monotonicMs() - startMs <= 2000);
  await world.run(Promise.all(stuck));
  await world.pleg.stop();
});

test('a list above the message limit is made of one list per pod', async () => {
  const world = await setUp({
    listLimit: 50,
    sources: [],
    before: async (early) => {
      for (let index = 0; index < 40; index++) await early.pod(`pod-${index}`, ['one', 'two']);
    },
  });
  assert.equal(world.cache.podCount, 40);
  assert.equal(world.pleg.health().ok, true);
  await world.pleg.stop();
});

test('a container removed by hand is gone from the cache with the event', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod('a', ['main', 'side'])) });
  world.runtime.removeContainerByHand(world.runtime.container('a', 'side')?.id ?? '');
  await world.clock.advance(50);
  assert.deepEqual([states(world), world.told], [['main running'], ['ContainerDied', 'ContainerRemoved']]);
  await world.pleg.stop();
});

test('a sandbox killed by hand is seen at once', async () => {
  for (const kind of ['cri', 'containerd'] as const) {
    const world = await setUp({ sources: [kind], before: async (early) => void (await early.pod()) });
    world.runtime.killSandbox(world.runtime.sandboxes('a')[0]?.id ?? '');
    await world.clock.advance(1);
    assert.deepEqual([world.cache.get(UID)?.sandboxes[0]?.ready, world.told], [false, ['SandboxChanged']]);
    await world.pleg.stop();
  }
});

test('a pod in transition is read often until it changed, and no longer', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.events.drop();
  world.pleg.expectChange(UID, 10_000);
  await world.clock.advance(100);
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.advance(200);
  assert.deepEqual(states(world), ['main exited']);
  world.calls();
  await world.clock.advance(5000);
  assert.deepEqual(world.calls(), {});
  world.pleg.expectChange(UID, 2000);
  await world.clock.advance(20_000);
  assert.ok((world.calls().listContainers ?? 0) <= 9, 'the deadline ends it');
  await world.pleg.stop();
});

test('a promise that never comes true is given up', async () => {
  const annotations = { 'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError' };
  const world = await setUp({
    sources: ['containerd'],
    annotations,
    exitLagMs: 3_600_000,
    before: async (early) => void (await early.pod()),
  });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.advance(5000);
  assert.deepEqual(world.calls(), { containerStatus: 15 });
  await world.pleg.stop();
});

test('health asks for a sign of life within three minutes', async () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const pleg = new Pleg({
    clock,
    random: seededRandom(1),
    log: recordingLog(),
    runtime,
    sources: [],
    cache: new RuntimeCache(clock),
    onEvent: () => undefined,
  });
  assert.deepEqual(pleg.health(), { ok: false, reason: 'pleg has yet to be successful', lastActiveMs: undefined });
  pleg.start();
  await clock.advance(1);
  assert.equal(pleg.health().ok, true);
  runtime.hang('listContainers');
  await clock.advance(170_000);
  assert.equal(pleg.health().ok, true);
  await clock.advance(20_000);
  assert.match(pleg.health().reason, /^pleg was last seen active 1\d\ds ago; threshold is 3m0s$/);
  runtime.clearFaults();
  await clock.advance(40_000);
  assert.equal(pleg.health().ok, true);
  await pleg.stop();
});

test('a refresh of a runtime that is away rejects and leaves the pod as it was', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.restart({ downMs: 60_000 });
  await assert.rejects(world.run(world.pleg.refresh(UID)), (error) => errorKind(error) === 'Unavailable');
  assert.deepEqual(states(world), ['main running']);
  await world.pleg.stop();
});

test('whoever waits for a change of a pod hears of it when the cache shows it', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  const [id = containerId('')] = world.runtime.containers('a').map((container) => containerId(container.id));
  const changed = world.cache.whenChanged(UID);
  const aborted = world.cache.whenChanged(UID, AbortSignal.abort());
  assert.deepEqual(
    (await aborted)?.containers.map((container) => container.state),
    ['running'],
  );
  world.runtime.killContainer(id);
  assert.deepEqual(
    (await world.run(changed))?.containers.map((container) => container.state),
    ['exited'],
  );
  await world.pleg.stop();
});

test('stopping leaves no timer behind', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.pleg.expectChange(UID, 10_000);
  await world.pleg.stop();
  await world.clock.advance(1);
  assert.equal(world.clock.armedTimers, 0);
});

test('a pod of which the agent cannot say what its call came to is read anew at once, and is not sure before', async () => {
  const world = await setUp();
  await world.pod();
  await world.clock.advance(100);
  assert.equal(world.cache.isSure(UID), true);
  const lift = world.runtime.fail('listContainers', { kind: 'Timeout' });
  world.cache.noteUnsure(UID);
  await world.clock.advance(500);
  assert.equal(world.cache.isSure(UID), false);
  lift();
  await world.clock.advance(2000);
  assert.equal(world.cache.isSure(UID), true);
  await world.pleg.stop();
});
