import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { ContainerId } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { CpuSetUpdater } from './cpu-set-updater.ts';

const PERIOD_MS = 10_000;

function world() {
  const clock = new FakeClock();
  const log = recordingLog();
  const calls: string[] = [];
  const state = {
    running: [] as PodRuntimeStatus[],
    shared: new Set([0, 1, 2]),
    own: new Map([['a', new Set([3])]]),
    answer: async (_id: string): Promise<void> => undefined,
  };
  const updater = new CpuSetUpdater({
    runtime: {
      updateContainerResources: (id, { cpusetCpus }) => {
        calls.push(`${id} ${cpusetCpus}`);
        return state.answer(id);
      },
    },
    running: () => state.running,
    affinity: (uid) => state.own.get(uid) ?? state.shared,
    clock,
    random: seededRandom(1),
    log,
    periodMs: PERIOD_MS,
  });
  return { clock, log, calls, state, updater };
}

function runs(uid: string, ...names: string[]): PodRuntimeStatus {
  const containers = names.map((name) => {
    const [own = '', state = 'running'] = name.split(' ');
    return { id: `${uid}-${own}` as ContainerId, name: own, state } as ContainerRuntimeStatus;
  });
  return { ...emptyPodRuntimeStatus({ uid: podUid(uid), name: uid, namespace: 'n' }, 0), containers };
}

describe('CPU sets', () => {
  it('are written once for containers that an earlier agent started, and only for those that run', async () => {
    const { state, updater, calls, clock } = world();
    state.running = [runs('a', 'x'), runs('b', 'x', 'ended exited', 'new created')];
    updater.start();
    await clock.advance(0);
    await clock.advance(3 * PERIOD_MS);
    assert.deepEqual(calls, ['a-x 3', 'b-x 0-2']);
    await updater.stop();
  });

  it('are not written for containers that were created with them', async () => {
    const { state, updater, calls, clock } = world();
    updater.noteCreated('a', 'x', new Set([3]));
    updater.noteCreated('b', 'x', new Set([0, 1]));
    state.running = [runs('a', 'x'), runs('b', 'x')];
    updater.start();
    await clock.advance(0);
    assert.deepEqual(calls, ['b-x 0-2'], 'the shared pool changed while it was created');
    await updater.stop();
  });

  it('follow the shared pool at once, without waiting for the period', async () => {
    const { state, updater, calls, clock } = world();
    state.running = [runs('b', 'x')];
    updater.start();
    await clock.advance(0);
    state.shared = new Set([0]);
    updater.wake();
    await clock.advance(0);
    assert.deepEqual(calls, ['b-x 0-2', 'b-x 0']);
    await updater.stop();
  });

  it('never become empty', async () => {
    const { state, updater, calls, clock } = world();
    state.running = [runs('b', 'x')];
    state.shared = new Set();
    updater.start();
    await clock.advance(PERIOD_MS);
    assert.deepEqual(calls, []);
    await updater.stop();
  });

  it('are tried again after the period when a call fails, and the failure is logged once', async () => {
    const { state, updater, calls, clock, log } = world();
    state.running = [runs('b', 'x')];
    state.answer = () => Promise.reject(new KubeletError('Internal', 'no'));
    updater.start();
    await clock.advance(0);
    assert.equal(calls.length, 1);
    await clock.advance(2 * PERIOD_MS + 1);
    assert.equal(calls.length, 3);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      ['failed to update container'],
    );
    await updater.stop();
  });

  it('of other containers do not wait for a call that hangs', async () => {
    const { state, updater, calls, clock } = world();
    state.answer = (id) => (id === 'b-x' ? new Promise(() => undefined) : Promise.resolve());
    state.running = [runs('b', 'x')];
    updater.start();
    await clock.advance(0);
    state.running = [runs('b', 'x'), runs('a', 'x')];
    updater.wake();
    await clock.advance(0);
    assert.deepEqual(calls, ['b-x 0-2', 'a-x 3']);
    await updater.stop();
  });

  it('of many containers are written, but not all at once', async () => {
    const { state, updater, calls, clock } = world();
    const answers: (() => void)[] = [];
    state.answer = () => new Promise((resolve) => answers.push(resolve));
    state.running = [...Array(40).keys()].map((index) => runs(`p${index}`, 'x'));
    updater.start();
    await clock.advance(0);
    assert.equal(calls.length, 16);
    while (answers.length > 0) {
      answers.shift()?.();
      await clock.advance(0);
    }
    assert.equal(new Set(calls).size, 40);
    assert.equal(calls.length, 40);
    await updater.stop();
  });
});
