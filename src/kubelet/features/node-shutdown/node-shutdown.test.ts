import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { annotations } from '../../../api/annotations.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeLoginManager } from '../../ports/testing/fake-login-manager.ts';
import { createNodeShutdown } from './create-node-shutdown.ts';
import { reportsShutdown, ShutdownState } from './shutdown-state.ts';

/** A node whose pods end when the test says so, or at the end of their grace period. */
function harness(shutdown = { graceMs: 30_000, criticalPodsGraceMs: 10_000, byPriority: [] }) {
  const clock = new FakeClock();
  const log = recordingLog();
  const login = new FakeLoginManager(clock);
  const files = new FakeHostFiles(clock);
  files.seed({ '/var/lib/kubelet/.keep': '' });
  const pods = new Map<PodUid, Pod>();
  const over = new Set<PodUid>();
  /** Pods that do not end at the end of their grace period. */
  const stuck = new Set<string>();
  const seen: string[] = [];
  const advance = new Set<(uid: PodUid) => void>();
  const admitted = new Set<(pod: Pod) => void>();
  const state = new ShutdownState();
  const world = { statusesSent: Promise.resolve() };
  const end = (name: string): void => {
    over.add(podUid(name));
    for (const listener of advance) listener(podUid(name));
  };
  const make = () =>
    createNodeShutdown({
      config: { shutdown, gates: { enabled: () => true } as never },
      standalone: false,
      state,
      rootDir: '/var/lib/kubelet',
      files,
      loginManager: login,
      pods: {
        active: () => [...pods.values()].filter(({ metadata }) => !over.has(podUid(metadata.uid))),
        byUid: (uid) => pods.get(uid),
        onAdmitted: (listener) => {
          admitted.add(listener);
          return () => void admitted.delete(listener);
        },
      },
      workers: {
        kill: (uid, { cause, graceMs }) => {
          seen.push(`kill ${uid} ${cause} ${graceMs}`);
          if (!stuck.has(uid)) clock.setTimer(graceMs, () => end(uid));
        },
        restart: ({ metadata }) => {
          over.delete(podUid(metadata.uid));
          seen.push(`restart ${metadata.uid}`);
        },
        hasFinished: (uid) => over.has(uid),
        onAdvance: (listener) => {
          advance.add(listener);
          return () => void advance.delete(listener);
        },
      },
      whenStatusesSent: () => world.statusesSent,
      recorder: { nodeEvent: (type, reason, message) => void seen.push(`${type} ${reason} ${message}`) },
      statusChanged: () => void seen.push('node status'),
      clock,
      log,
    });
  const add = (name: string, changes: Changes = {}): void => {
    const pod = buildPod({
      'metadata.uid': name,
      'metadata.name': name,
      'spec.terminationGracePeriodSeconds': 5,
      ...changes,
    });
    pods.set(podUid(name), pod);
    for (const listener of admitted) listener(pod);
  };
  const started = async (subject: ReturnType<typeof make>): Promise<void> => {
    const start = subject.start();
    await clock.advance(0);
    await start;
  };
  const taken = (): string[] => seen.splice(0);
  /** The pods of each group whose time was over before all had ended. */
  const timedOut = (): unknown[] =>
    log.lines.filter(({ message }) => message.includes('killing time out')).map(({ fields }) => fields?.['pods']);
  return { clock, login, files, state, world, seen, stuck, taken, add, end, make, started, timedOut };
}

const CRITICAL: Changes = { 'spec.priority': 2_000_000_000 };
const STATIC: Changes = { 'metadata.annotations': { [annotations.configSource]: 'file' } };
const DETECTED = 'Normal Shutdown Shutdown manager detected shutdown event';

describe('graceful node shutdown', () => {
  it('delays the shutdown, ends ordinary pods before critical ones, and then lets the machine go', async () => {
    const { clock, login, add, end, make, started, taken } = harness();
    add('web');
    add('slow', { 'spec.terminationGracePeriodSeconds': 300 });
    add('dns', CRITICAL);
    const shutdown = make();
    await started(shutdown);
    assert.deepEqual(
      [login.locks.map(({ who, why }) => `${who}: ${why}`), login.delayMaxMs],
      [['kubelet: Kubelet needs time to handle node shutdown'], 30_000],
    );
    login.shutDown();
    assert.deepEqual(taken(), [DETECTED, 'node status', 'kill web evicted 5000', 'kill slow evicted 20000']);
    await clock.advance(6000);
    assert.deepEqual([taken(), login.isDown], [[], false], 'the slow one still has time');
    end('slow');
    await clock.advance(0);
    assert.deepEqual(taken(), ['kill dns evicted 5000'], 'nothing waits for a timer');
    end('dns');
    await clock.advance(0);
    assert.deepEqual([login.isDown, login.locks.length], [true, 0]);
  });

  it('goes on with the next group when the time of one is over', async () => {
    const { clock, login, add, make, started, taken } = harness({
      graceMs: 30_000,
      criticalPodsGraceMs: 10_000,
      byPriority: [],
    });
    add('stuck', { 'spec.terminationGracePeriodSeconds': 300 });
    add('dns', CRITICAL);
    const shutdown = make();
    await started(shutdown);
    login.shutDown();
    taken();
    await clock.advance(19_999);
    assert.deepEqual(taken(), []);
    await clock.advance(2001);
    assert.deepEqual(taken(), ['kill dns evicted 5000']);
  });

  it('makes the node not ready, rejects new pods, and says in the status of each pod why it ended', async () => {
    const { login, add, make, started, state } = harness();
    add('web');
    await started(make());
    assert.deepEqual([state.problem(), state.rejection(), state.get(podUid('web'))], [undefined, undefined, undefined]);
    login.shutDown();
    assert.equal(state.problem(), 'node is shutting down');
    assert.deepEqual(state.rejection(), {
      reason: 'NodeShutdown',
      message: 'Pod was rejected as the node is shutting down.',
    });
    const message = 'Pod was terminated in response to imminent node shutdown.';
    assert.deepEqual(state.get(podUid('web')), {
      reason: 'Terminated',
      message,
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
    });
    assert.equal(state.get(podUid('other')), undefined);
  });

  it('that is cancelled stops no further pods, restarts static pods and takes the lock again', async () => {
    const { clock, login, add, make, started, state, taken } = harness();
    add('web');
    add('proxy', STATIC);
    add('dns', CRITICAL);
    await started(make());
    login.shutDown();
    await clock.advance(1000);
    taken();
    login.cancel();
    await clock.advance(60_000);
    assert.deepEqual(taken(), [
      'Normal Shutdown Shutdown manager detected shutdown cancellation',
      'node status',
      'restart proxy',
    ]);
    assert.deepEqual([state.problem(), state.get(podUid('proxy')), login.locks.length], [undefined, undefined, 1]);
    assert.equal(state.get(podUid('web'))?.reason, 'Terminated', 'it stays ended');
    login.shutDown();
    assert.ok(taken().includes(DETECTED), 'the next shutdown is handled like the first');
  });

  it('keeps when it began and ended for the next start of the machine', async () => {
    const { clock, login, add, make, started } = harness();
    add('web');
    const first = make();
    await started(first);
    const beganMs = clock.nowMs();
    login.shutDown();
    await clock.advance(5000);
    const times = { startMs: beganMs, endMs: beganMs + 5000 };
    assert.deepEqual(first.times(), times);
    first.stop();
    login.isPreparing = false;
    const next = make();
    await started(next);
    assert.deepEqual(next.times(), times);
  });

  it('divides the time that logind gives where that is less than configured', async () => {
    const { clock, login, add, make, taken } = harness();
    login.ignoresOverride = true;
    add('slow', { 'spec.terminationGracePeriodSeconds': 300 });
    add('dns', { ...CRITICAL, 'spec.terminationGracePeriodSeconds': 300 });
    const start = make();
    const starting = start.start();
    await clock.advance(5000);
    await starting;
    login.shutDown();
    await clock.advance(5000);
    assert.deepEqual(
      taken().filter((line) => line.startsWith('kill')),
      ['kill slow evicted 3333', 'kill dns evicted 1666'],
    );
  });

  it('is noticed by an agent that starts in the middle of it: the pods it finds end', async () => {
    const { clock, login, add, make, started, taken, state } = harness();
    login.shutDown();
    await started(make());
    assert.deepEqual([taken(), login.locks.length], [[DETECTED, 'node status'], 0]);
    add('found');
    assert.equal(state.get(podUid('found'))?.reason, 'Terminated', 'before its worker can start anything');
    await clock.advance(0);
    assert.deepEqual(taken(), ['kill found evicted 5000']);
  });

  it('connects again after D-Bus was restarted, and then holds one lock', async () => {
    const { clock, login, make, started } = harness();
    const shutdown = make();
    await started(shutdown);
    login.isAway = true;
    login.loseConnections();
    await clock.advance(10_000);
    assert.match(shutdown.problems()[0]?.message ?? '', /would not wait for its pods: .*logind/);
    login.isAway = false;
    await clock.advance(30_000);
    assert.deepEqual([shutdown.problems(), login.connections, login.locks.length], [[], 1, 1]);
  });

  it('notices a shutdown that began, and one that was cancelled, while the connection was lost', async () => {
    const { clock, login, make, started, state } = harness();
    await started(make());
    login.loseConnections();
    login.shutDown();
    await clock.advance(1500);
    assert.equal(state.isShuttingDown, true);
    login.loseConnections();
    login.cancel();
    await clock.advance(1500);
    assert.deepEqual([state.isShuttingDown, login.locks.length], [false, 1]);
  });

  it('takes the lock again when it is lost', async () => {
    const { clock, login, make, started } = harness();
    await started(make());
    login.locks[0]?.lose();
    assert.equal(login.locks.length, 0);
    await clock.advance(1500);
    assert.equal(login.locks.length, 1);
  });

  it('waits for the last statuses, but not longer than three seconds', async () => {
    const { clock, login, add, make, started, world } = harness();
    world.statusesSent = new Promise(() => undefined);
    add('web');
    await started(make());
    login.shutDown();
    await clock.advance(5000);
    assert.equal(login.isDown, false);
    await clock.advance(3000);
    assert.equal(login.isDown, true);
  });

  it('without grace periods does nothing, and with SIGTERM ends the pods without logind', async () => {
    const off = harness({ graceMs: 0, criticalPodsGraceMs: 0, byPriority: [] });
    off.add('web');
    await off.started(off.make());
    off.login.shutDown();
    assert.deepEqual([off.taken(), off.login.connections], [[], 0]);
    const { clock, add, make, started, taken, login } = harness();
    login.isAway = true;
    add('web');
    const shutdown = make();
    await started(shutdown);
    let isOver = false;
    void shutdown.shutDown().then(() => (isOver = true));
    assert.deepEqual(taken(), [DETECTED, 'node status', 'kill web evicted 5000']);
    await clock.advance(4999);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true);
  });

  it('does not wait for pods that have ended already, and gives a pod two more seconds when earlier ones left time', async () => {
    const { clock, add, end, make, started, stuck, taken, timedOut } = harness();
    for (const name of ['quick', 'stuck']) add(name);
    for (const name of ['dns', 'proxy']) add(name, { ...CRITICAL, 'spec.terminationGracePeriodSeconds': 300 });
    for (const name of ['stuck', 'dns', 'proxy']) stuck.add(name);
    const shutdown = make();
    await started(shutdown);
    let isOver = false;
    void shutdown.shutDown().then(() => (isOver = true));
    const again = shutdown.shutDown();
    const kills = (): string[] => taken().filter((line) => line.startsWith('kill'));
    assert.deepEqual(kills(), ['kill quick evicted 5000', 'kill stuck evicted 5000'], 'once, for two requests');
    end('proxy');
    await clock.advance(21_999);
    assert.deepEqual(kills(), []);
    await clock.advance(1);
    assert.deepEqual(kills(), ['kill dns evicted 10000', 'kill proxy evicted 10000']);
    end('quick');
    end('stranger');
    await clock.advance(9_999);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true, 'of the time of all groups nothing was left for more than the configured time');
    await again;
    assert.deepEqual(timedOut(), [['default/stuck'], ['default/dns']]);
  });

  it('is over at once when the pods of the last group have ended during the one before', async () => {
    const { clock, login, add, end, make, started, timedOut } = harness();
    add('web');
    add('dns', CRITICAL);
    await started(make());
    login.shutDown();
    end('dns');
    end('web');
    await clock.advance(0);
    assert.deepEqual([login.isDown, timedOut()], [true, []]);
  });

  it('gives a group at most two seconds beyond its period, even if earlier groups left time', async () => {
    const { clock, add, make, started, stuck } = harness();
    add('dns', CRITICAL);
    stuck.add('dns');
    const shutdown = make();
    await started(shutdown);
    let isOver = false;
    void shutdown.shutDown().then(() => (isOver = true));
    await clock.advance(11_999);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true);
  });

  it('ends nothing more once the agent stops, and leaves no lock, connection or timer behind', async () => {
    const { clock, login, add, make, started, taken, timedOut } = harness();
    add('web');
    add('dns', CRITICAL);
    const shutdown = make();
    await started(shutdown);
    const ending = shutdown.shutDown();
    taken();
    shutdown.stop();
    await ending;
    await clock.advance(60_000);
    assert.deepEqual([taken(), login.locks.length, login.connections, clock.armedTimers], [[], 0, 0, 0]);
    assert.deepEqual([shutdown.times().endMs, timedOut()], [undefined, []]);
    login.shutDown();
    assert.deepEqual(taken(), []);
  });

  it('does not connect again, and keeps no connection that comes late, once the agent stops', async () => {
    const { clock, login, make } = harness();
    const away = make();
    login.isAway = true;
    const starting = away.start();
    await clock.advance(0);
    await starting;
    assert.deepEqual(away.problems(), [
      { message: 'a shutdown of this machine would not wait for its pods: logind cannot be reached', blocking: false },
    ]);
    away.stop();
    login.isAway = false;
    const late = make();
    const beginning = late.start();
    late.stop();
    await clock.advance(60_000);
    await beginning;
    assert.deepEqual([login.connections, login.locks.length, late.problems()], [0, 0, []]);
  });

  it('does not hold up the start of the agent for longer than five seconds', async () => {
    const { clock, login, make } = harness();
    login.connect = () => new Promise(() => undefined);
    let hasStarted = false;
    void make()
      .start()
      .then(() => (hasStarted = true));
    await clock.advance(4999);
    assert.equal(hasStarted, false);
    await clock.advance(1);
    assert.equal(hasStarted, true);
  });

  it('leaves the delay of logind alone where it is long enough, and does nothing for a cancellation of nothing', async () => {
    const { clock, login, make, started, taken } = harness();
    login.delayMaxMs = 60_000;
    await started(make());
    assert.equal(login.delayMaxMs, 60_000);
    login.cancel();
    await clock.advance(1000);
    assert.deepEqual([taken(), login.locks.length], [[], 1]);
  });

  it('is recognized in the status of a pod from an earlier run of the agent', () => {
    const state = new ShutdownState();
    state.end(podUid('web'));
    const own = state.get(podUid('web'))?.condition;
    assert.ok(own);
    const other = { ...own, message: 'Pod was evicted' };
    const statuses = [undefined, {}, { conditions: [] }, { conditions: [other, { ...own, type: 'Ready' }] }];
    assert.deepEqual(statuses.map(reportsShutdown), [false, false, false, false]);
    assert.equal(reportsShutdown({ conditions: [other, own] }), true);
    state.forget(podUid('web'));
    assert.deepEqual([state.get(podUid('web')), state.ended()], [undefined, []]);
  });
});
