import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorMessage } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeLogFiles } from '../../ports/testing/fake-log-files.ts';
import type { LogQuery, WholeRead } from './read-logs.ts';
import { ContainerLogReader } from './read-logs.ts';

const pod = { uid: 'uid', name: 'web', namespace: 'ns' };
const dir = '/var/log/pods/ns_web_uid/c';
const plain: LogQuery = { follow: false, previous: false, timestamps: false };
const cri = (text: string): string => `2026-01-01T00:00:00.5Z stdout F ${text}\n`;

const container = (attempt: number, state: ContainerRuntimeStatus['state']): ContainerRuntimeStatus => ({
  id: containerId(`c${attempt}`),
  sandboxId: sandboxId('s'),
  name: 'c',
  attempt,
  state,
  createdAtMs: attempt + 1,
  startedAtMs: state === 'created' ? 0 : 1,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageRef: '',
  imageId: '',
  logPath: `${dir}/${attempt}.log`,
  labels: {},
  annotations: {},
});

function world(...containers: ContainerRuntimeStatus[]) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const logFiles = new FakeLogFiles(files);
  const state: { runtime: PodRuntimeStatus } = {
    runtime: { uid: podUid('uid'), name: 'web', namespace: 'ns', sandboxes: [], containers, observedAtMs: 0 },
  };
  const wholeReads: WholeRead[] = [];
  const reader = new ContainerLogReader({
    onWholeRead: (read) => wholeReads.push(read),
    logFiles,
    files,
    podLogsDir: '/var/log/pods',
    clock,
    log: recordingLog(),
    states: { get: () => state.runtime, whenChanged: () => new Promise(() => undefined) },
  });
  files.seed({ [`${dir}/0.log`]: cri('zero') });
  const open = (query: Partial<LogQuery> = {}, signal = new AbortController().signal) =>
    reader.read({ pod, container: 'c', runtime: state.runtime }, { ...plain, ...query }, signal);
  const all = async (query: Partial<LogQuery> = {}): Promise<string> => {
    let text = '';
    for await (const chunk of await open(query)) text += Buffer.from(chunk).toString();
    return text;
  };
  return { clock, files, logFiles, state, open, all, reader, wholeReads };
}

describe('reading logs', () => {
  it('reads the newest attempt, the previous one, and the requested tails', async () => {
    const { files, all, logFiles } = world(container(1, 'running'), container(0, 'exited'));
    files.seed({ [`${dir}/1.log`]: cri('a') + cri('b') + cri('c') });
    assert.deepEqual(
      [
        await all(),
        await all({ previous: true }),
        await all({ tailLines: 2 }),
        await all({ tailLines: 0 }),
        await all({ limitBytes: 3 }),
      ],
      ['a\nb\nc\n', 'zero\n', 'b\nc\n', '', 'a\nb'],
    );
    assert.equal(logFiles.openCount, 0);
  });

  it("falls back to the last one that ran, and reports what is missing in upstream's words", async () => {
    assert.equal(await world(container(1, 'created'), container(0, 'exited')).all(), 'zero\n');
    const messages = [
      await world(container(0, 'running')).all({ previous: true }).catch(errorMessage),
      await world(container(0, 'created')).all().catch(errorMessage),
    ];
    assert.deepEqual(messages, [
      'previous terminated container "c" in pod "web" not found',
      'container "c" in pod "web" is waiting to start - no logs yet',
    ]);
  });

  it('does not read through a symlink, nor outside of the pod', async () => {
    const { files, all } = world(container(0, 'running'));
    await files.remove(`${dir}/0.log`);
    files.seed({ '/etc/shadow': cri('secret') });
    await files.symlink('/etc/shadow', `${dir}/0.log`);
    assert.match(await all().catch(errorMessage), /symbolic link/);
    assert.match(
      await world({ ...container(0, 'running'), logPath: '/etc/shadow' })
        .all()
        .catch(errorMessage),
      /not kept in a file below/,
    );
  });

  it('follows across rotations without losing or doubling a line, and ends with the container', async () => {
    const { clock, files, state, open, logFiles } = world(container(0, 'running'));
    const stream = await open({ follow: true });
    let text = '';
    let ended = false;
    void (async () => {
      for await (const chunk of stream) text += Buffer.from(chunk).toString();
      ended = true;
    })();
    let expected = 'zero\n';
    for (let round = 0; round < 5; round++) {
      for (let line = 0; line < 3; line++) {
        await files.appendFile(`${dir}/0.log`, cri(`${round}.${line}`));
        expected += `${round}.${line}\n`;
      }
      await files.rename(`${dir}/0.log`, `${dir}/0.log.2026010${round}-000000`);
      // The runtime still writes to the file that it has open, and then opens the new one.
      await files.appendFile(`${dir}/0.log.2026010${round}-000000`, cri(`${round}.late`));
      expected += `${round}.late\n`;
      await files.writeFile(`${dir}/0.log`, '', 0o640);
      if (round % 2 === 0) await clock.advance(400);
      await clock.advance(10);
    }
    await files.appendFile(`${dir}/0.log`, cri('last'));
    state.runtime = { ...state.runtime, containers: [container(0, 'exited')] };
    await clock.advance(5000);
    assert.deepEqual([text, ended, logFiles.openCount], [`${expected}last\n`, true, 0]);
  });

  it('reads lines that follow each other closely together, and one after a pause at once', async () => {
    const { clock, files, open } = world(container(0, 'running'));
    const gone = new AbortController();
    const chunks: string[] = [];
    const stream = await open({ follow: true }, gone.signal);
    void (async () => {
      for await (const chunk of stream) chunks.push(Buffer.from(chunk).toString());
    })();
    await clock.advance(100);
    assert.deepEqual(chunks.splice(0), ['zero\n']);
    const lines = Array.from({ length: 100 }, (_, index) => `${index}\n`);
    for (const line of lines) {
      await files.appendFile(`${dir}/0.log`, cri(line.trimEnd()));
      await clock.advance(1);
      if (line === lines[0]) assert.deepEqual(chunks, [line]);
    }
    await clock.advance(10);
    assert.equal(chunks.join(''), lines.join(''));
    assert.ok(chunks.length <= 12, `${chunks.length} reads of 100 lines in 100 ms`);
    gone.abort();
    await clock.advance(10);
  });

  it('holds nothing once its reader is gone, even one that never began', async () => {
    const { clock, open, logFiles } = world(container(0, 'running'));
    const gone = new AbortController();
    await open({ follow: true }, gone.signal);
    gone.abort();
    await clock.advance(10);
    assert.equal(logFiles.openCount, 0);
  });

  it('reports the position of a client that received the whole log, and of no other', async () => {
    const { all, wholeReads, logFiles, files } = world(container(0, 'running'));
    for (const part of [{ tailLines: 1 }, { limitBytes: 2 }, { sinceTimeMs: 0 }, { stream: 'stdout' }] as const)
      await all(part);
    assert.deepEqual(wholeReads, []);
    await files.appendFile(`${dir}/0.log`, cri('one').slice(0, -3));
    await all();
    const file = await logFiles.open(`${dir}/0.log`, dir);
    assert.deepEqual(
      wholeReads.map(({ container: { id }, end }) => [id, end]),
      [[containerId('c0'), { inode: file.inode, bytes: await file.sizeBytes() }]],
    );
  });

  it('follows one container by its entries, from its beginning or after a position, and reports when all is read', async () => {
    const { clock, files, state, reader, all, wholeReads, logFiles } = world(container(0, 'running'));
    await all();
    const read = async (from: WholeRead['end'] | undefined): Promise<string[]> => {
      const taken: string[] = [];
      let timesCaughtUp = 0;
      const { entries, look } = await reader.followEntries(
        { pod, container: container(0, 'running') },
        { from, onCaughtUp: () => (timesCaughtUp += 1) },
        new AbortController().signal,
      );
      const done = (async () => {
        for await (const some of entries)
          taken.push(...some.map(({ stream, content }) => `${stream} ${Buffer.from(content).toString()}`));
      })();
      await clock.advance(10);
      assert.ok(timesCaughtUp > 0);
      timesCaughtUp = 0;
      look();
      await clock.advance(10);
      assert.equal(timesCaughtUp, 1);
      await files.appendFile(`${dir}/0.log`, cri('more').replace('stdout F', 'stderr P'));
      await clock.advance(10);
      state.runtime = { ...state.runtime, containers: [container(0, 'exited')] };
      await clock.advance(5000);
      await done;
      return taken;
    };
    assert.deepEqual(await read(undefined), ['stdout zero\n', 'stderr more']);
    state.runtime = { ...state.runtime, containers: [container(0, 'running')] };
    assert.deepEqual(await read(wholeReads[0]?.end), ['stderr more', 'stderr more']);
    state.runtime = { ...state.runtime, containers: [container(0, 'running')] };
    assert.equal((await read({ inode: -1, bytes: 20 }))[0], 'stdout zero\n', 'another file');
    assert.equal(logFiles.openCount, 0);
  });
});
