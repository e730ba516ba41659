import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { containerId } from '../../model/ids.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { containerIdOfLink, logLinkName, parseLogFileName, podUidOfLogDirectory } from './log-layout.ts';
import type { WritingContainer } from './log-rotation.ts';
import { LogRotation } from './log-rotation.ts';
import { planRotation, selectOrphanedAttempts, selectOverBudget } from './rotation-select.ts';

const dir = '/var/log/pods/ns_pod_uid/c';
const policy = { maxSizeBytes: 100, maxFiles: 3 };
const nowMs = Date.UTC(2026, 0, 1, 0, 0, 10);

function world(options: { reopen?: (files: FakeHostFiles) => Promise<void>; workers?: number } = {}) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const containers: WritingContainer[] = [{ id: containerId('c1'), logPath: `${dir}/0.log` }];
  const reopened: string[] = [];
  const reopenContainerLog = async (id: string): Promise<void> => {
    reopened.push(id);
    await (options.reopen ?? ((host) => host.writeFile(`${dir}/0.log`, '', 0o640)))(files);
  };
  const rotation = new LogRotation({
    runtime: { reopenContainerLog },
    files,
    running: () => containers,
    policy,
    intervalMs: 10_000,
    workers: options.workers ?? 1,
    world: { clock, random: seededRandom(1), log },
  });
  files.seed({ [`${dir}/0.log`]: 'x'.repeat(50) });
  return { clock, files, log, rotation, reopened, containers };
}

describe('log rotation', () => {
  it('rotates as many logs at once as there are workers', async () => {
    for (const workers of [1, 2]) {
      const { rotation, files, clock, reopened, containers } = world({
        workers,
        reopen: () => new Promise(() => undefined),
      });
      for (const name of ['c2', 'c3']) containers.push({ id: containerId(name), logPath: `${dir}${name}/0.log` });
      files.seed(Object.fromEntries(containers.map(({ logPath }) => [logPath, 'x'.repeat(200)])));
      rotation.start();
      await clock.advance(100);
      assert.deepEqual(reopened, ['c1', 'c2', 'c3'].slice(0, workers));
    }
  });

  it('renames, has the runtime open a new file, compresses what was rotated before, and keeps as many files as allowed', async () => {
    const { rotation, files, clock, reopened } = world();
    rotation.start();
    await clock.advance(1);
    assert.deepEqual(reopened, []);
    for (let round = 0; round < 4; round++) {
      await files.appendFile(`${dir}/0.log`, 'x'.repeat(100));
      await clock.advance(10_000);
    }
    await rotation.stop();
    const names = await files.list(dir);
    assert.equal(reopened.length, 4);
    assert.deepEqual(
      names.map((name) => name.replace(/\d{8}-\d{6}/, 'STAMP')),
      ['0.log', '0.log.STAMP.gz', '0.log.STAMP'],
    );
  });

  it('costs one stat per container and interval while nothing happens', async () => {
    const { rotation, files, clock } = world();
    rotation.start();
    await clock.advance(30_000);
    files.calls.length = 0;
    await clock.advance(60_000);
    await rotation.stop();
    assert.deepEqual(new Set(files.calls), new Set([`lstat ${dir}/0.log`]));
    assert.ok(files.calls.length <= 7, `${files.calls.length} calls`);
  });

  it('checks a log that nears its limit sooner, and a new container soon', async () => {
    const { rotation, files, clock, reopened } = world();
    rotation.start();
    await clock.advance(20_000);
    rotation.noteStarted(containerId('c1'));
    await files.appendFile(`${dir}/0.log`, 'x'.repeat(60));
    await clock.advance(1_100);
    await rotation.stop();
    assert.equal(reopened.length, 1);
  });

  it('takes the rename back when the runtime does not open a new file', async () => {
    const { rotation, files, clock, log } = world({
      reopen: async () => Promise.reject(new KubeletError('Unavailable', 'down')),
    });
    await files.appendFile(`${dir}/0.log`, 'x'.repeat(100));
    rotation.start();
    await clock.advance(25_000);
    await rotation.stop();
    assert.deepEqual([await files.list(dir), files.peek(`${dir}/0.log`)?.length], [['0.log'], 150]);
    assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1, 'said once');
  });

  it('does not take it back over a new file that exists after all', async () => {
    const { rotation, files, clock } = world({
      reopen: async (host) => {
        await host.writeFile(`${dir}/0.log`, 'new', 0o640);
        throw new KubeletError('Timeout', 'late');
      },
    });
    await files.appendFile(`${dir}/0.log`, 'x'.repeat(100));
    rotation.start();
    await clock.advance(1);
    await rotation.stop();
    assert.deepEqual([(await files.list(dir)).length, files.peek(`${dir}/0.log`)], [2, 'new']);
  });

  it('leaves alone what is not a regular file', async () => {
    const { rotation, files, clock, log, reopened } = world();
    await files.remove(`${dir}/0.log`);
    await files.symlink('/etc/shadow', `${dir}/0.log`);
    rotation.start();
    await clock.advance(25_000);
    await rotation.stop();
    assert.deepEqual([reopened, log.lines.filter(({ level }) => level === 'error').length], [[], 1]);
  });
});

describe('rotation plan', () => {
  it('never overwrites a file rotated in the same second', () => {
    assert.equal(planRotation(['0.log', '0.log.20260101-000010'], 0, policy, nowMs).rotateTo, '0.log.20260101-000011');
  });

  it('clears incomplete and duplicate files, removes the oldest, and leaves other attempts alone', () => {
    const names = [
      '0.log',
      '0.log.20250101-000001.gz',
      '0.log.20250101-000002',
      '0.log.20250101-000002.gz',
      '0.log.20250101-000003.tmp',
      '1.log.20250101-000001',
      'notes',
    ];
    assert.deepEqual(planRotation(names, 0, policy, nowMs), {
      remove: ['0.log.20250101-000002', '0.log.20250101-000003.tmp', '0.log.20250101-000001.gz'],
      rotateTo: '0.log.20260101-000010',
      compress: [],
    });
  });

  it('holds all attempts together within the limits of one', () => {
    const files = [
      ['0.log', 100],
      ['0.log.20250101-000001', 100],
      ['1.log', 100],
      ['2.log', 150],
    ].map(([name, sizeBytes]) => ({ name: String(name), sizeBytes: Number(sizeBytes) }));
    assert.deepEqual(selectOverBudget(files, 2, policy), ['0.log.20250101-000001', '0.log']);
  });

  it('spares the two newest attempts without container', () => {
    assert.deepEqual(
      selectOrphanedAttempts(
        ['0.log', '1.log', '1.log.20250101-000001.gz', '2.log', '3.log', '4.log', 'x'],
        new Set([0]),
      ),
      ['1.log', '1.log.20250101-000001.gz', '2.log'],
    );
  });

  it('names files and links as upstream does', () => {
    const id = 'a'.repeat(64);
    const link = logLinkName({ name: 'pod-1', namespace: 'ns' }, 'c', id);
    assert.deepEqual(
      [link, containerIdOfLink(link), logLinkName({ name: 'p'.repeat(250), namespace: 'ns' }, 'c', id).length],
      [`pod-1_ns_c-${id}.log`, id, 255],
    );
    assert.deepEqual(['ns_pod_uid', 'lost+found'].map(podUidOfLogDirectory), ['uid', undefined]);
    assert.deepEqual(
      ['3.log', '3.log.20260101-000000.gz', '3.log.gz', 'x.log'].map((name) => parseLogFileName(name)?.attempt),
      [3, 3, undefined, undefined],
    );
  });
});
