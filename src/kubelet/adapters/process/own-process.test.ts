import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { linuxProcesses } from './linux-processes.ts';
import { setOwnOomScore, setOwnOpenFiles } from './own-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-own-process-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const limitsFile = join(folder, 'limits');
writeFileSync(
  limitsFile,
  'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n',
);

function recorded(result: { exitCode: number; stderr: string } | Error) {
  const calls: string[] = [];
  const run = async (program: string, args: readonly string[]) => {
    calls.push([program, ...args].join(' '));
    if (result instanceof Error) throw result;
    return { stdout: '', ...result };
  };
  return { calls, processes: { run } };
}

test('the limit of open files is set by prlimit, unless it is the wanted one already', async () => {
  const { calls, processes } = recorded({ exitCode: 0, stderr: '' });
  assert.equal(await setOwnOpenFiles(1_000_000, processes, { pid: 7, limitsFile }), undefined);
  writeFileSync(join(folder, 'equal'), 'Max open files            500                  500                  files\n');
  assert.equal(await setOwnOpenFiles(500, processes, { pid: 7, limitsFile: join(folder, 'equal') }), undefined);
  assert.deepEqual(calls, ['prlimit --pid=7 --nofile=1000000:1000000']);
});

test('a limit of open files that cannot be set has a reason', async () => {
  const refused = recorded({ exitCode: 1, stderr: 'prlimit: failed to set the NOFILE resource limit\n' });
  assert.match((await setOwnOpenFiles(9, refused.processes, { limitsFile })) ?? '', /^prlimit: failed to set/);
  const absent = recorded(new KubeletError('NotFound', 'prlimit is not installed'));
  assert.equal(await setOwnOpenFiles(9, absent.processes, { limitsFile }), 'prlimit is not installed');
});

test('the limit of open files of a real process is lowered', async () => {
  const soft = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  assert.equal(await setOwnOpenFiles(soft - 1, linuxProcesses), undefined);
  assert.match(
    readFileSync('/proc/self/limits', 'utf8'),
    new RegExp(`^Max open files +${soft - 1} +${soft - 1} `, 'm'),
  );
});

test('an OOM score that is not permitted has a reason', () => {
  const score = join(folder, 'score');
  writeFileSync(score, '');
  assert.equal(setOwnOomScore(-999, score), undefined);
  assert.equal(readFileSync(score, 'utf8'), '-999');
  assert.match(setOwnOomScore(-999, join(folder, 'none', 'score')) ?? '', /ENOENT/);
});
