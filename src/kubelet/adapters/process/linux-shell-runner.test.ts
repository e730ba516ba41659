import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorKind } from '../../../base/errors.ts';
import { ShellRunner } from './linux-shell-runner.ts';

const options = (timeoutMs = 20_000) => ({ timeoutMs, op: 'look' });

test('arguments reach a program unchanged, without shell interpretation', async () => {
  const runner = new ShellRunner();
  const word = fc
    .oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[ '"$`\\;&|<>\n*?!#~(){}a-]*$/))
    .filter((text) => !text.includes('\0') && text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 4 }), async (words) => {
      assert.deepEqual(await runner.run('/usr/bin/printf', ['<%s>', ...words], options()), {
        exitCode: 0,
        stdout: '',
        stderr: words.map((text) => `<${text}>`).join(''),
      });
    }),
    { numRuns: 40 },
  );
});

test('consecutive programs share a shell, and each has its own result', async () => {
  // On a busy machine a program may take longer than the usual patience, and others would get more shells.
  const runner = new ShellRunner({ patienceMs: 60_000 });
  const parent = async (): Promise<string> => (await runner.run('/bin/sh', ['-c', 'echo $PPID'], options())).stderr;
  const first = await parent();
  assert.deepEqual(await runner.run('/bin/sh', ['-c', 'echo no >&2; exit 32'], options()), {
    exitCode: 32,
    stdout: '',
    stderr: 'no\n',
  });
  assert.deepEqual([await parent(), await parent()], [first, first]);
  assert.equal(new Set(await Promise.all(Array.from({ length: 20 }, parent))).size, 3);
});

test('a program that cannot be started is reported, and without a shell programs are run directly', async () => {
  await assert.rejects(
    new ShellRunner().run('no-such-program-here', [], options()),
    (error) =>
      errorKind(error) === 'Unavailable' &&
      /^look: no-such-program-here could not be started/.test((error as Error).message),
  );
  const runner = new ShellRunner({ shell: '/no/such/shell' });
  assert.deepEqual(await runner.run('false', ['x'], options()), { exitCode: 1, stdout: '', stderr: '' });
  await assert.rejects(
    runner.run('no-such-program-here', [], options()),
    (error) => errorKind(error) === 'Unavailable',
  );
});

test('a late program is killed with its shell at its deadline, and its exit is reported when it happens', async () => {
  const runner = new ShellRunner();
  let said = (): void => undefined;
  const gone = new Promise<void>((resolve) => (said = resolve));
  await assert.rejects(
    runner.run('sleep', ['30'], { ...options(50), onExit: said }),
    (error) => errorKind(error) === 'Timeout' && (error as Error).message === 'look: no answer within 50 ms',
  );
  await gone;
  assert.deepEqual(await runner.run('printf', ['again'], options()), { exitCode: 0, stdout: '', stderr: 'again' });
});

test('hung programs delay no others', async () => {
  const runner = new ShellRunner({ patienceMs: 20 });
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-shell-'));
  const release = join(folder, 'go');
  let ended = 0;
  const hung = Array.from({ length: 8 }, async () => {
    await runner.run('/bin/sh', ['-c', `until [ -e ${release} ]; do sleep 0.05; done`], options());
    ended++;
  });
  assert.deepEqual([(await runner.run('printf', ['done'], options())).stderr, ended], ['done', 0]);
  writeFileSync(release, '');
  await Promise.all(hung);
  rmSync(folder, { recursive: true });
});

test('a killed shell ends its program, and the next program gets another shell', async () => {
  const runner = new ShellRunner();
  const killed = await runner.run('/bin/sh', ['-c', 'kill -9 $PPID'], options());
  assert.deepEqual([killed.exitCode, (await runner.run('true', [], options())).exitCode], [137, 0]);
});

test('an idle shell ends', async () => {
  const runner = new ShellRunner({ idleMs: 1 });
  const pid = (await runner.run('/bin/sh', ['-c', 'echo $PPID'], options())).stderr.trim();
  const isThere = (): boolean => {
    try {
      return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
  while (isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await runner.run('true', [], options())).exitCode, 0);
});
