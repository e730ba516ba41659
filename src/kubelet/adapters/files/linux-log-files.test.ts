import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { errorKind } from '../../../base/errors.ts';
import { LinuxFiles } from './linux-files.ts';
import { linuxLogFiles } from './linux-log-files.ts';
import { linuxProcesses } from '../process/linux-processes.ts';

let root = '';
before(async () => {
  root = await mkdtemp(`${tmpdir()}/log-files-`);
  await mkdir(`${root}/pods/p/c`, { recursive: true });
});
after(() => rm(root, { recursive: true, force: true }));

describe('log files', () => {
  it('opens a regular file and keeps reading it under its old name', async () => {
    const path = `${root}/pods/p/c/0.log`;
    await writeFile(path, 'one');
    const file = await linuxLogFiles.open(path, `${root}/pods/p`);
    await rename(path, `${path}.1`);
    await appendFile(`${path}.1`, ' two');
    assert.equal(Buffer.from(await file.read(0, 100)).toString(), 'one two');
    await file.close();
  });

  it('rejects whatever a container with a writable log folder may create there (TOB-K8S-026)', async () => {
    const pod = `${root}/pods/p`;
    await symlink('/etc/shadow', `${pod}/c/1.log`);
    await symlink('/etc', `${pod}/linked`);
    await mkdir(`${pod}/c/2.log`);
    execFileSync('mkfifo', [`${pod}/c/3.log`]);
    const kinds = await Promise.all(
      ['c/1.log', 'linked/hostname', 'c/2.log', 'c/3.log', 'c/9.log'].map((name) =>
        linuxLogFiles.open(`${pod}/${name}`, pod).then(() => 'opened', errorKind),
      ),
    );
    assert.deepEqual(kinds, ['Invalid', 'Invalid', 'Invalid', 'Invalid', 'NotFound']);
  });
});

describe('processes', () => {
  const limits = { timeoutMs: 5000, outputLimitBytes: 1000 };

  it('passes stdin, arguments and environment, and returns the output', async () => {
    const result = await linuxProcesses.run(
      '/bin/sh',
      ['-c', 'read line; echo "$line $1 $EXTRA"; echo oops >&2; exit 3', 'sh', 'a b'],
      { ...limits, stdin: 'in\n', env: { EXTRA: 'x' } },
    );
    assert.deepEqual(result, { exitCode: 3, stdout: 'in a b x\n', stderr: 'oops\n' });
  });

  it('kills the whole group at the deadline, or when it writes too much', async () => {
    const startMs = systemClock.monotonicMs();
    await assert.rejects(
      linuxProcesses.run('/bin/sh', ['-c', `sleep 30 & echo $! > ${root}/pid; wait`], { ...limits, timeoutMs: 200 }),
      (error) => errorKind(error) === 'Timeout',
    );
    assert.ok(systemClock.monotonicMs() - startMs < 5000);
    const child = Number(await new LinuxFiles().readText(`${root}/pid`));
    const stateOf = (): Promise<string | undefined> =>
      new LinuxFiles().readText(`/proc/${child}/stat`).then(
        (text) => text.split(' ')[2],
        () => 'gone',
      );
    // The signal was sent. On a busy machine it takes a moment until the process is scheduled and exits.
    let state = await stateOf();
    for (let look = 0; look < 1000 && state !== 'gone' && state !== 'Z'; look++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      state = await stateOf();
    }
    assert.ok(state === 'gone' || state === 'Z', `the grandchild is ${state}`);
    await assert.rejects(
      linuxProcesses.run('/bin/sh', ['-c', 'yes'], limits),
      (error) => errorKind(error) === 'Invalid',
    );
    await assert.rejects(linuxProcesses.run('/nonexistent', [], limits), (error) => errorKind(error) === 'NotFound');
  });
});
