// A disk that becomes full under the SQLite store: a small file system in memory.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { SqliteStorage } from '../../../src/control-plane/storage/sqlite/sqlite-storage.ts';
import { done } from '../../../src/control-plane/storage/testing/storage-fixture.ts';
import { runCommand } from '../../../src/up/commands.ts';

describe('the SQLite store on a disk that is full', () => {
  it('refuses writes and says why, loses nothing, opens again, and goes on when there is room', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kts-full-'));
    await runCommand(['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder]);
    const [file, ballast] = [path.join(folder, 'state.db'), path.join(folder, 'ballast')];
    const open = (): SqliteStorage => new SqliteStorage({ file, clock: systemClock, log: silentLogger });
    let storage: SqliteStorage | undefined;
    try {
      writeFileSync(ballast, Buffer.alloc(4 * 1024 * 1024));
      storage = open();
      const acknowledged = new Map<string, number>();
      const refusals: unknown[] = [];
      for (let i = 0; i < 400; i++) {
        const result = await storage
          .put(`/k${i}`, `${i}`.padEnd(20_000, 'x'), { expected: 0 })
          .catch((error: unknown) => void refusals.push(error));
        if (result !== undefined) acknowledged.set(`/k${i}`, done(result));
      }
      assert.ok(
        acknowledged.size > 10 && refusals.length > 10,
        `${acknowledged.size} written, ${refusals.length} refused`,
      );
      for (const error of refusals)
        assert.ok(
          error instanceof KubeletError &&
            error.kind === 'Unavailable' &&
            error.message.includes(file) &&
            error.message.includes('the disk is full'),
        );
      const standing = (list: { items: readonly { key: string; revision: number }[] }): Map<string, number> =>
        new Map(list.items.map(({ key, revision }) => [key, revision]));
      assert.deepEqual(
        standing(await storage.list('/')),
        new Map([...acknowledged].sort(([a], [b]) => (a < b ? -1 : 1))),
      );
      await storage.close();
      storage = open();
      assert.deepEqual(standing(await storage.list('/')).size, acknowledged.size);
      rmSync(ballast);
      await storage.check();
      const newest = await storage.revision();
      assert.equal(done(await storage.put('/after', 'x'.repeat(20_000), { expected: 0 })), newest + 1);
    } finally {
      await storage?.close();
      await runCommand(['umount', folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
