import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { RuntimeHealth } from '../ports/runtime.ts';
import { RuntimeMonitor } from './runtime-monitor.ts';

const good = { ok: true, reason: '', message: '' };

const withoutNetwork = {
  runtimeReady: good,
  networkReady: { ok: false, reason: 'NetworkPluginNotReady', message: 'cni config uninitialized' },
} as unknown as RuntimeHealth;
const healthy = { runtimeReady: good, networkReady: good } as unknown as RuntimeHealth;

function harness(health = healthy) {
  const clock = new FakeClock();
  const log = recordingLog();
  const world = { health, down: false, checks: 0, changes: 0, more: [] as string[] };
  const status = async (): Promise<RuntimeHealth> => {
    world.checks++;
    if (world.down) throw new KubeletError('Unavailable', 'connection refused');
    return world.health;
  };
  const monitor = new RuntimeMonitor({
    runtime: { status },
    clock,
    random: seededRandom(1),
    log,
    moreErrors: () => world.more,
  });
  monitor.onChange(() => world.changes++);
  monitor.start();
  return { clock, log, world, monitor };
}

describe('runtime monitor', () => {
  it('reports an unknown state before the first answer, and no errors after it', async () => {
    const { clock, monitor, world } = harness();
    const error = 'container runtime status check may not have completed yet';
    assert.deepEqual(monitor.runtimeErrors(), [error]);
    assert.deepEqual(monitor.problems(), [{ message: `no pod is started or changed: ${error}`, blocking: true }]);
    await clock.settle();
    assert.deepEqual([monitor.runtimeErrors(), monitor.networkError(), world.changes], [[], undefined, 1]);
    assert.deepEqual(monitor.problems(), []);
    await clock.advance(60_000);
    assert.deepEqual([world.checks, world.changes], [13, 1]);
  });

  it('reports the runtime as down once after 30 s without an answer, and as up as soon as it answers', async () => {
    const { clock, log, monitor, world } = harness();
    await clock.settle();
    world.down = true;
    await clock.advance(29_999);
    assert.deepEqual(monitor.runtimeErrors(), []);
    await clock.advance(10_000);
    assert.deepEqual([monitor.runtimeErrors(), world.changes], [['container runtime is down: connection refused'], 2]);
    world.down = false;
    await clock.advance(1000);
    assert.deepEqual([monitor.runtimeErrors(), world.changes], [[], 3]);
    assert.equal(log.lines.filter((line) => line.level === 'error').length, 1);
    const before = world.checks;
    await clock.advance(60_000);
    assert.ok(world.checks - before <= 13, `${world.checks - before} checks in a minute after the outage`);
    world.down = true;
    await clock.advance(10_000);
    assert.equal(log.lines.filter((line) => line.level === 'error').length, 2, 'the next outage is logged, too');
  });

  it('notifies when the runtime answers again after a short outage: pods wait for their next try', async () => {
    const { clock, monitor, world } = harness();
    await clock.settle();
    world.down = true;
    await clock.advance(20_000);
    assert.deepEqual([monitor.runtimeErrors(), world.changes], [[], 1]);
    world.down = false;
    await clock.advance(1000);
    assert.equal(world.changes, 2);
    await clock.advance(20_000);
    assert.equal(world.changes, 2);
  });

  it('polls often at first while there are errors, then once a second', async () => {
    const { clock, world } = harness(withoutNetwork);
    await clock.advance(1000);
    assert.ok(world.checks >= 4, `${world.checks} in the first second`);
    const before = world.checks;
    await clock.advance(60_000);
    assert.ok(world.checks - before <= 61, `${world.checks - before} in a minute`);
  });

  it("reports a network that is not ready separately, in upstream's words, and notifies when it is ready", async () => {
    const { clock, monitor, world } = harness(withoutNetwork);
    await clock.settle();
    const expected =
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni config uninitialized';
    assert.deepEqual([monitor.runtimeErrors(), monitor.networkError()], [[], expected]);
    world.health = healthy;
    const before = world.changes;
    await clock.advance(1000);
    assert.deepEqual([monitor.networkError(), world.changes - before], [undefined, 1]);
  });

  it('also notifies when another reason not to sync is gone', async () => {
    const { clock, monitor, world } = harness();
    world.more = ['PLEG is not healthy'];
    await clock.settle();
    assert.deepEqual(monitor.runtimeErrors(), ['PLEG is not healthy']);
    world.more = [];
    const before = world.changes;
    await clock.advance(1000);
    assert.equal(world.changes - before, 1);
  });
});
