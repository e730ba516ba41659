import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { takeInhibitorLock } from './inhibitor-process.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-inhibitor-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Takes a lock from a program that replaces `systemd-inhibit`. It prints its process id and holds a pipe open while it
 * runs. `ended` resolves with its process id when it has ended.
 */
function takeFrom(name: string, script: string) {
  const bin = path.join(folder, name);
  const pipe = path.join(bin, 'pipe');
  execFileSync('mkdir', [bin]);
  execFileSync('mkfifo', [pipe]);
  writeFileSync(path.join(bin, 'systemd-inhibit'), `#!/bin/sh\nexec 9>${pipe}\necho $$ >&9\n${script}\n`, {
    mode: 0o755,
  });
  const started = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  createReadStream(pipe, 'utf8')
    .on('data', (line) => started.resolve(Number(line)))
    .on('end', () => ended.resolve());
  const lock = takeInhibitorLock({ who: 'kubelet', why: 'test' }, { PATH: `${bin}:${process.env['PATH']}` });
  return { lock, started: started.promise, ended: ended.promise };
}

/** Does what `systemd-inhibit` does with a lock: runs the program behind its four options. */
const RUN_PROGRAM = 'shift 4; exec "$@"';

test('a lock is held until it is released, which is no loss', async () => {
  const { lock, ended } = takeFrom('held', RUN_PROGRAM);
  const { release, onLost } = await lock;
  let lost = 0;
  onLost(() => lost++);
  release();
  await ended;
  // The end of the program is reported in a later turn.
  await new Promise(setImmediate);
  assert.equal(lost, 0);
});

test('a lock whose program ends is reported as lost', async () => {
  const { lock, started } = takeFrom('lost', RUN_PROGRAM);
  const { onLost } = await lock;
  const lost = new Promise<void>((resolve) => onLost(resolve));
  process.kill(await started, 'SIGKILL');
  await lost;
});

test('a refusal has the words of systemd-inhibit, or its exit code where it said nothing', async () => {
  const refusalOf = (name: string, script: string) =>
    takeFrom(name, script).lock.then(
      () => 'taken',
      (error: Error) => `${errorKind(error)} ${error.message}`,
    );
  assert.equal(
    await refusalOf('refused', 'echo "  Access denied  " >&2; exit 1'),
    'Unavailable systemd-inhibit: Access denied',
  );
  assert.equal(await refusalOf('silent', 'exit 3'), 'Unavailable systemd-inhibit: ended with exit code 3');
  await assert.rejects(takeInhibitorLock({ who: 'a', why: 'b' }, { PATH: folder }), /systemd-inhibit.*ENOENT/);
});

test('a program that does not take the lock in time is killed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lock, started, ended } = takeFrom('slow', 'exec sleep 600');
  await started;
  t.mock.timers.tick(9_999);
  const refused = assert.rejects(lock, /no lock in time/);
  t.mock.timers.tick(1);
  await refused;
  await ended;
});
