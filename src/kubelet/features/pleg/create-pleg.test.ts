import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { runPod } from '../../ports/testing/runtime-builders.ts';
import { createPleg } from './create-pleg.ts';
import { RuntimeCache } from './runtime-cache.ts';

const IMAGE = 'example/app:1';

function fixture() {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: [IMAGE] });
  const cache = new RuntimeCache(clock);
  const notified: string[] = [];
  const pleg = createPleg({
    runtime,
    sources: [runtime.eventSource('cri')],
    cache,
    onObserved: ({ kind }) => void notified.push(kind),
    onExit: (uid, { name, exitCode }) => void notified.push(`${uid}: ${name} exited with ${exitCode}`),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = (): void => void (done = true);
    work.then(end, end);
    assert.ok(await clock.advanceUntil(() => done, 60_000));
    return work;
  };
  const pod = (uid: string) => run(runPod(runtime, { uid }, [{ name: 'web', image: IMAGE }]));
  return { clock, runtime, cache, pleg, notified, run, pod };
}

describe("PLEG's listeners", () => {
  it('are notified of an exit, and of the event after it', async () => {
    const { clock, runtime, pleg, notified, run, pod } = fixture();
    const { containers } = await pod('a');
    pleg.start();
    await run(pleg.whenAdopted());
    await clock.advance(2000);
    notified.splice(0);
    runtime.killContainer(containers[0] ?? assert.fail(), { exitCode: 3 });
    await clock.advance(2000);
    await pleg.stop();
    assert.deepEqual(notified, ['a: web exited with 3', 'ContainerDied']);
  });

  it('are not notified of exits from before the agent started', async () => {
    const { clock, runtime, pleg, notified, run, pod } = fixture();
    const { containers } = await pod('a');
    runtime.killContainer(containers[0] ?? assert.fail(), { exitCode: 3 });
    pleg.start();
    await run(pleg.whenAdopted());
    await clock.advance(2000);
    await pleg.stop();
    assert.deepEqual(
      notified.filter((line) => line.includes('exited')),
      [],
    );
    assert.ok(notified.includes('ContainerDied'));
  });

  it('are notified once of an exit that the agent reads right after its own start, before any event', async () => {
    const { clock, runtime, cache, pleg, notified, run, pod } = fixture();
    pleg.start();
    await run(pleg.whenAdopted());
    const { containers } = await pod('a');
    await clock.advance(2000);
    const id = containers[0] ?? assert.fail();
    const running = await run(runtime.containerStatus(id));
    const finishedAtMs = clock.nowMs();
    notified.splice(0);
    const exited = { ...running, state: 'exited' as const, exitCode: 1, finishedAtMs };
    cache.noteContainer(
      { uid: cache.ownerOf(id) ?? assert.fail(), name: 'a', namespace: 'default' },
      exited,
      'observed',
    );
    assert.deepEqual(notified, ['a: web exited with 1', 'ContainerDied']);
    runtime.killContainer(id, { exitCode: 1 });
    await clock.advance(2000);
    assert.deepEqual(notified, ['a: web exited with 1', 'ContainerDied']);
    await pleg.stop();
  });

  it("are not notified of the agent's own actions", async () => {
    const { clock, cache, pleg, notified, run, pod } = fixture();
    pleg.start();
    await run(pleg.whenAdopted());
    const { containers } = await pod('a');
    await clock.advance(2000);
    const uid = cache.ownerOf(containers[0] ?? '') ?? assert.fail();
    notified.splice(0);
    cache.noteContainerRemoved(uid, containers[0] ?? assert.fail());
    assert.deepEqual(notified, []);
    await pleg.stop();
  });
});

describe('the health of PLEG', () => {
  it('blocks syncs until the running pods have been read', async () => {
    const { pleg, run } = fixture();
    assert.deepEqual(pleg.errors(), ['PLEG is not healthy: pleg has yet to be successful']);
    pleg.start();
    await run(pleg.whenAdopted());
    assert.equal(pleg.isAdopted, true);
    assert.deepEqual(pleg.errors(), []);
    await pleg.stop();
  });
});
