import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../base/random.ts';
import { errorKind } from '../../../base/errors.ts';
import { containerId, podUid } from '../../model/ids.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { Pleg } from './pleg.ts';
import { RuntimeCache } from './runtime-cache.ts';
import { UID, setUp, states } from './testing/pleg-world.ts';

test('without a stream the node is listed every second, and an exit is found by the next list', async () => {
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

test('polling replaces a broken stream, and the reconnected stream catches up', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  const { runtime, clock, pleg } = world;
  runtime.restart({ downMs: 20_000 });
  await clock.advance(1000);
  assert.equal(pleg.streamKind, undefined);
  runtime.killContainer(runtime.containers('a')[0]?.id ?? '');
  await clock.advance(18_000);
  assert.deepEqual(states(world), ['main running'], 'nothing new is known while the runtime is down');
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

test("a newer runtime's CRI events are used when the old stream ends", async () => {
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
  // What the list shows of it is enough to prevent a second container of its name.
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

test('twenty hung pods release their slots', async () => {
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

test('a list above the message limit is split into one list per pod', async () => {
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

test('a container that another client removed leaves the cache with the event', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod('a', ['main', 'side'])) });
  world.runtime.removeContainerByHand(world.runtime.container('a', 'side')?.id ?? '');
  await world.clock.advance(50);
  assert.deepEqual([states(world), world.reported], [['main running'], ['ContainerDied', 'ContainerRemoved']]);
  await world.pleg.stop();
});

test('a sandbox that another client killed is noticed immediately', async () => {
  for (const kind of ['cri', 'containerd'] as const) {
    const world = await setUp({ sources: [kind], before: async (early) => void (await early.pod()) });
    world.runtime.killSandbox(world.runtime.sandboxes('a')[0]?.id ?? '');
    await world.clock.advance(1);
    assert.deepEqual([world.cache.get(UID)?.sandboxes[0]?.ready, world.reported], [false, ['SandboxChanged']]);
    await world.pleg.stop();
  }
});

test('a pod in transition is polled until it has changed, and no longer', async () => {
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

test('an expected change that never happens is given up', async () => {
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

test('health requires activity within three minutes', async () => {
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

test('a refresh while the runtime is down rejects and leaves the pod unchanged', async () => {
  const world = await setUp({ before: async (early) => void (await early.pod()) });
  world.runtime.restart({ downMs: 60_000 });
  await assert.rejects(world.run(world.pleg.refresh(UID)), (error) => errorKind(error) === 'Unavailable');
  assert.deepEqual(states(world), ['main running']);
  await world.pleg.stop();
});

test('a caller that waits for a change of a pod is notified when the cache shows it', async () => {
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

test('a pod is unconfirmed after a call with an unknown result, and is read again immediately', async () => {
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
