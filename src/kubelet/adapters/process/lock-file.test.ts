import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { hasWaiter, takeLockFile } from './lock-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-lock-file-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a lock file is made, held by one at a time, and given on when it is released', async () => {
  const path = join(folder, 'one');
  const first = await takeLockFile(path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const order: string[] = [];
  const second = takeLockFile(path).then((lock) => {
    order.push('second');
    return lock;
  });
  await first.contended;
  order.push('contended');
  first.release();
  (await second).release();
  assert.deepEqual(order, ['contended', 'second']);
});

test('the removal of a lock file counts as contention', async () => {
  const path = join(folder, 'two');
  const lock = await takeLockFile(path);
  rmSync(path);
  await lock.contended;
  lock.release();
});

test('waiting for a lock file can be given up', async () => {
  const path = join(folder, 'three');
  const lock = await takeLockFile(path);
  const abort = new AbortController();
  const waiting = takeLockFile(path, abort.signal);
  abort.abort();
  await assert.rejects(waiting, (error) => isKind(error, 'Unavailable'));
  lock.release();
});

test('a lock file that cannot be made is Unavailable', async () => {
  const path = join(folder, 'none', 'lock');
  await assert.rejects(takeLockFile(path), /unable to acquire file lock on ".*none\/lock"/);
  assert.equal(existsSync(path), false);
});

test('a process that waits is found among the locks of the machine', () => {
  const held = '1: FLOCK  ADVISORY  WRITE 10817 fe:00:2172721 0 EOF\n';
  const waits = '1: -> FLOCK  ADVISORY  WRITE 10900 fe:00:2172721 0 EOF\n';
  const posix = '2: -> POSIX  ADVISORY  WRITE 10900 fe:00:2172721 0 EOF\n';
  assert.deepEqual(
    [
      hasWaiter(held, 2_172_721),
      hasWaiter(held + posix, 2_172_721),
      hasWaiter(held + waits, 2_172_721),
      hasWaiter(waits, 72_721),
    ],
    [false, false, true, false],
  );
});
