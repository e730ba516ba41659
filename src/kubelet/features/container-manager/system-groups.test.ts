import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind, KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { SystemGroups } from './system-groups.ts';

function world(options: { kubeletGroup?: string; systemGroup?: string }) {
  const clock = new FakeClock();
  const log = recordingLog();
  const places = new Map([
    [42, '/user'],
    [7, '/'],
    [8, '/'],
  ]);
  const stuck = new Set<number>();
  const groups = new SystemGroups({
    groups: {
      ownPid: 42,
      move: async (pid, group) => {
        if (stuck.has(pid)) throw new KubeletError('Unavailable', 'EINVAL');
        places.set(pid, group);
      },
      isIn: async (pid, group) => places.get(pid) === group,
      rootProcesses: async () => [...places].filter(([, group]) => group === '/').map(([pid]) => pid),
    },
    kubeletGroup: '',
    systemGroup: '',
    ...options,
    clock,
    random: seededRandom(1),
    log,
  });
  return { clock, log, places, stuck, groups };
}

describe('groups of processes outside of pods', () => {
  it('system cgroups take the agent and the processes of the root group, and again after another program moved them', async () => {
    const { clock, places, groups } = world({ kubeletGroup: '/kubelet', systemGroup: '/system' });
    await groups.start();
    await clock.settle();
    const wanted = [
      [42, '/kubelet'],
      [7, '/system'],
      [8, '/system'],
    ];
    assert.deepEqual([...places], wanted);
    places.set(42, '/');
    places.set(7, '/');
    await clock.advance(60_000);
    assert.deepEqual([...places], wanted);
    await groups.stop();
    places.set(42, '/');
    await clock.advance(120_000);
    assert.equal(places.get(42), '/', 'a stopped agent moves nothing');
  });

  it('system cgroups leave everything where it is without configuration', async () => {
    const { clock, places, groups } = world({});
    await groups.start();
    await clock.settle();
    await clock.advance(120_000);
    assert.deepEqual([...places.values()], ['/user', '/', '/']);
  });

  it('system cgroups cannot be the root group', async () => {
    await assert.rejects(
      world({ systemGroup: '/' }).groups.start(),
      (error: Error) => isKind(error, 'Invalid') && error.message === 'system container cannot be root ("/")',
    );
  });

  it('system cgroups are tried again for a process that cannot be moved, which is logged once', async () => {
    const { clock, log, places, stuck, groups } = world({ systemGroup: '/system' });
    stuck.add(7);
    await groups.start();
    await clock.settle();
    await clock.advance(60_000);
    assert.deepEqual(
      log.lines.map(({ fields }) => fields['error']),
      ['failed to move PID 7 into the system container "/system": EINVAL'],
    );
    stuck.clear();
    await clock.advance(60_000);
    assert.equal(places.get(7), '/system');
    await groups.stop();
  });
});
