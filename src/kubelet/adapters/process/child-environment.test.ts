// Tests what programs that the agent runs can see of it, for each way in which it runs them.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { errorKind, errorMessage } from '../../../base/errors.ts';
import { LinuxMounts } from '../files/linux-mounts.ts';
import { linuxProcesses } from './linux-processes.ts';
import { runKillable } from './linux-killable.ts';
import { ShellRunner } from './linux-shell-runner.ts';

const root = mkdtempSync(join(tmpdir(), 'kts-child-'));
const limits = { timeoutMs: 20_000, outputLimitBytes: 100_000 };
const hostile = {
  PATH: `.::${root}:/usr/bin:/bin`,
  LD_BIND_NOW: '1',
  NODE_OPTIONS: '--no-deprecation',
  NOTIFY_SOCKET: '/none',
  BASH_ENV: join(root, 'rc'),
};
const own = new Map(Object.keys(hostile).map((name) => [name, process.env[name]]));
const at = process.cwd();
before(() => {
  writeFileSync(join(root, 'env'), '#!/bin/sh\necho HIJACKED\n', { mode: 0o755 });
  chmodSync(root, 0o777);
  process.chdir(root);
  Object.assign(process.env, hostile);
});
after(() => {
  process.chdir(at);
  for (const [name, value] of own)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  rmSync(root, { recursive: true, force: true });
});

describe('the environment of children', () => {
  const ways = {
    'programs of the operator': () => linuxProcesses.run('env', [], limits).then(({ stdout }) => stdout),
    'what may hang': () => runKillable('env', [], { ...limits, op: 'env' }).then(({ stdout }) => stdout),
    'what shells run': () =>
      new ShellRunner({ idleMs: 1 }).run('env', [], { ...limits, op: 'env' }).then(({ stderr }) => stderr),
  };
  for (const [what, run] of Object.entries(ways)) {
    it(`has no world-writable folder, and no variable meant for the agent alone: ${what}`, async () => {
      const lines = (await run()).trim().split('\n');
      assert.deepEqual(
        lines.filter((line) => /HIJACKED|^(LD_|NODE_OPTIONS|NOTIFY|BASH_ENV)/.test(line)),
        [],
      );
      const path = /^PATH=(.*)$/m.exec(lines.join('\n'))?.[1]?.split(':') ?? [];
      assert.deepEqual(
        path.filter((folder) => !folder.startsWith('/') || folder === root),
        [],
      );
      assert.ok(path.includes('/usr/bin'));
    });
  }

  it('does not exist for a program that any user may change: it is not run', {
    skip: process.geteuid?.() !== 0 && 'needs root',
  }, async () => {
    assert.match(
      await linuxProcesses.run(join(root, 'env'), [], limits).then(() => 'ran', errorMessage),
      /env is not run: any user may change /,
    );
  });

  it('and arguments with NUL are rejected, without being quoted', async () => {
    const error: unknown = await linuxProcesses
      .run('/bin/true', ['secret\0'], limits)
      .catch((reason: unknown) => reason);
    assert.deepEqual(
      [errorKind(error), errorMessage(error)],
      ['Invalid', '/bin/true could not be started: ERR_INVALID_ARG_VALUE'],
    );
  });
});

describe('values of users in the arguments of mount and umount', () => {
  it('follow the end of the options, or are the value of one', async () => {
    const runs: (readonly string[])[] = [];
    const mounts = new LinuxMounts({
      run: (program, args) => (runs.push([program, ...args]), Promise.resolve({ exitCode: 0, stdout: '', stderr: '' })),
    });
    await mounts.bind('--help', '-V', { readOnly: true });
    await mounts.mountTmpfs('-V', { sizeBytes: 1 });
    await mounts.mount('-V', { fsType: '--help', source: '-h', options: ['-V', 'ro'], helper: true });
    for (const [program, ...args] of runs) {
      const end = args.indexOf('--');
      assert.ok(end > 0, `${program} ${args.join(' ')}`);
      const open = args.slice(0, end).filter((_word, index, all) => !['-o', '-t'].includes(all[index - 1] ?? ''));
      assert.deepEqual(
        open.filter((word) => !/^(-n|-i|-t|-o|--bind)$/.test(word)),
        [],
      );
    }
    assert.equal(runs.length, 4);
  });
});
