import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { Pleg } from './pleg.ts';
import { RuntimeCache } from './runtime-cache.ts';
import { podUid } from '../../model/ids.ts';
import { buildContainerConfig, buildSandboxConfig, runPod } from '../../ports/testing/runtime-builders.ts';
import { IMAGE, UID, setUp, states } from './testing/pleg-world.ts';

test('existing pods are adopted by two lists and one status call per sandbox and container', async () => {
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
  // The stream opens during the first relist and requests a second one, because changes before it opened were not
  // announced.
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
  assert.deepEqual(world.reported, []);
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit announced by ${kind} events that do not show it is in the cache as soon as the runtime shows it`, async () => {
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
      [states(world), world.cache.get(UID)?.containers[0]?.exitCode, world.reported],
      [['main exited'], 9, ['ContainerDied']],
    );
    assert.deepEqual(Object.keys(world.calls()), ['containerStatus'], 'one container is read, not the pod');
    await world.pleg.stop();
  });
}

test('a CRI event that contains the exit needs no call at once; one later call reads the other details', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.settle();
  assert.deepEqual([states(world), world.calls(), world.reported], [['main exited'], {}, ['ContainerDied']]);
  await world.clock.advance(5000);
  assert.deepEqual(world.calls(), { containerStatus: 1 });
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit known only from ${kind} events is read with the next full inspection, and once`, async () => {
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

test('a containerd event contains the exit; one later call reads the other details', async () => {
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
    [world.cache.get(UID)?.containers[0], world.calls(), world.reported],
    [exit, { containerStatus: 1 }, ['ContainerDied']],
  );
  await world.pleg.stop();
});

for (const kind of ['cri', 'containerd'] as const) {
  test(`an exit from ${kind} events is published with its termination message`, async () => {
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
    assert.deepEqual([seen, world.reported], [['exited: exited with 3'], ['ContainerDied']]);
    await world.pleg.stop();
  });

  test(`an unreadable message does not delay an exit from ${kind} events`, async () => {
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

test('after an OOM kill the reason is read from the runtime', async () => {
  const world = await setUp({
    sources: ['containerd'],
    exitLagMs: 12,
    before: async (early) => void (await early.pod()),
  });
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { oomKilled: true });
  await world.clock.advance(1000);
  assert.deepEqual([world.cache.get(UID)?.containers[0]?.reason, world.reported], ['OOMKilled', ['ContainerDied']]);
  await world.pleg.stop();
});

test('an OOM kill event is followed by status calls until the runtime reports the OOM kill, even if it shows the exit', async () => {
  for (const oomLagMs of [100, 600]) {
    const world = await setUp({ sources: ['containerd'], oomLagMs, before: async (early) => void (await early.pod()) });
    world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '', { oomKilled: true });
    await world.clock.advance(50);
    assert.equal(world.cache.get(UID)?.containers[0]?.reason, 'Error');
    await world.clock.advance(3000);
    assert.deepEqual(
      [world.cache.get(UID)?.containers[0]?.reason, world.reported],
      ['OOMKilled', ['ContainerDied', 'ContainerChanged']],
    );
    await world.pleg.stop();
  }
});

test("the agent's own results are in the cache at once, published as its own, and not read again", async () => {
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
  assert.deepEqual([states(world), world.reported], [['main running'], ['own SandboxChanged', 'own ContainerStarted']]);
  world.calls();
  await clock.advance(5000);
  assert.deepEqual(world.calls(), {});
  await world.pleg.stop();
});

test("an exit announced before the agent's own result came is read as soon as it arrives", async () => {
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

test('a foreign pod is found by its labels, and a container without labels is read once', async () => {
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

test('the slow relist recovers from lost events', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.events.drop();
  world.runtime.killContainer(world.runtime.containers('a')[0]?.id ?? '');
  await world.clock.advance(10_000);
  assert.deepEqual(states(world), ['main running']);
  await world.clock.advance(60_000);
  assert.deepEqual([states(world), world.reported], [['main exited'], ['ContainerDied']]);
  await world.pleg.stop();
});

test('late, duplicate and reordered events do not replace newer information', async () => {
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
    [states(world), world.cache.get(UID)?.containers[0]?.exitCode, world.reported],
    [['main exited'], 5, ['ContainerDied']],
  );
  await pleg.stop();
});

test('an exit record survives a runtime that loses the container', async () => {
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
