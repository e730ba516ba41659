// kill -9 at random times of a process that writes, and of etcd: all acknowledged writes exist afterwards, and
// revisions have increased.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { EtcdStorage } from '../../../src/control-plane/storage/etcd/etcd-storage.ts';
import { SqliteStorage } from '../../../src/control-plane/storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../../src/control-plane/storage/storage.ts';
import { startEtcd } from '../support/etcd.ts';
import type { Acknowledged } from './storage-writer.ts';

const SEED = Number(process.env['KUBELET_TEST_SEED'] ?? 20261121);
const KILLS = 20;
const LONGEST_LIFE_MS = 400;

/** The expected contents, from the writes that were acknowledged in all lives so far. */
class Ledger {
  readonly #last = new Map<string, Acknowledged>();
  #newest = 1;
  count = 0;

  add(line: Acknowledged): void {
    this.count++;
    this.#newest = Math.max(this.#newest, line.revision);
    this.#last.set(line.key, line);
  }

  /** The store may be ahead of the record by one unacknowledged write of each writer, and must never be behind it. */
  async check(storage: Storage): Promise<void> {
    const { items, revision } = await storage.list('/registry/');
    assert.ok(revision >= this.#newest, `the store is at ${revision}, acknowledged was ${this.#newest}`);
    const found = new Map(items.map((item) => [item.key, item]));
    for (const item of items) assert.match(item.value, /^\d+-\d+-x*\.$/, `${item.key} is not a whole value`);
    let ahead = 0;
    for (const [key, { revision: acknowledged, value }] of this.#last) {
      const item = found.get(key);
      if (item?.revision === acknowledged || (item === undefined && value === undefined))
        assert.equal(item?.value, value, key);
      else {
        ahead++;
        assert.ok(
          item === undefined || item.revision > acknowledged,
          `${key} is at ${item?.revision}, acknowledged was ${acknowledged}`,
        );
      }
      // What an unanswered write left is what stands from here on.
      if (item === undefined) this.#last.set(key, { key, revision: Math.max(acknowledged, 0) });
      else this.#last.set(key, item);
    }
    assert.ok(ahead <= 8, `${ahead} keys differ from what was acknowledged: seed ${SEED}`);
    this.#newest = revision;
  }
}

class Writer {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly lines: Acknowledged[] = [];
  words = '';

  constructor(kind: 'sqlite' | 'etcd', target: string, seed: number) {
    this.#child = spawn(
      process.execPath,
      [path.join(import.meta.dirname, 'storage-writer.ts'), kind, target, String(seed)],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#closed = once(this.#child, 'close');
    let rest = '';
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) this.lines.push(JSON.parse(part) as Acknowledged);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.words += chunk));
  }

  /** Resolves when it has started to write. */
  async begun(): Promise<void> {
    while (this.lines.length === 0) {
      const over = await Promise.race([
        once(this.#child.stdout ?? this.#child, 'data').then(() => false),
        this.#closed.then(() => true),
      ]);
      if (over) throw new Error(`the writer ended before it wrote: ${this.words}`);
    }
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  async ended(): Promise<void> {
    await this.#closed;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.setTimer(ms, resolve));

describe('a store whose process is killed at random moments', () => {
  it('SQLite: has every acknowledged write, whole, and goes on with greater revisions', {
    timeout: 120_000,
  }, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kts-kill-'));
    const file = path.join(folder, 'state.db');
    const random = seededRandom(SEED);
    const ledger = new Ledger();
    try {
      for (let life = 1; life <= KILLS; life++) {
        const writer = new Writer('sqlite', file, life);
        await writer.begun();
        await pause(random.next() * LONGEST_LIFE_MS);
        await writer.kill();
        for (const line of writer.lines) ledger.add(line);
        const storage = new SqliteStorage({ file, clock: systemClock, log: silentLogger });
        await ledger.check(storage);
        await storage.close();
        checkTables(file);
      }
      assert.ok(ledger.count > KILLS * 10, `${ledger.count} writes are too few to tell`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('etcd: the same, whether the writer is killed or etcd itself', { timeout: 240_000 }, async () => {
    const etcd = await startEtcd();
    const random = seededRandom(SEED + 1);
    const ledger = new Ledger();
    try {
      for (let life = 1; life <= KILLS; life++) {
        const writer = new Writer('etcd', etcd.endpoint, life);
        await writer.begun();
        await pause(random.next() * LONGEST_LIFE_MS);
        if (life % 3 === 0) {
          await etcd.kill();
          await writer.ended();
          await etcd.start();
        } else await writer.kill();
        for (const line of writer.lines) ledger.add(line);
        const storage = new EtcdStorage({ endpoints: [etcd.endpoint], clock: systemClock, log: silentLogger });
        await ledger.check(storage);
        await storage.close();
      }
      assert.ok(ledger.count > KILLS * 10, `${ledger.count} writes are too few to tell`);
    } finally {
      await etcd.stop();
    }
  });
});

/** Checks that there is no partial transaction: the tables are consistent. */
function checkTables(file: string): void {
  const database = new DatabaseSync(file);
  const one = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0];
  assert.equal(one('PRAGMA integrity_check'), 'ok');
  assert.equal(
    one(
      'SELECT count(*) FROM keys k LEFT JOIN history h ON h.revision = k.revision WHERE h.key IS NOT k.key OR h.deleted IS NOT k.deleted',
    ),
    0,
    'a key without its newest write',
  );
  assert.equal(
    one(
      'SELECT count(*) FROM history h LEFT JOIN keys k ON k.key = h.key WHERE k.revision IS NULL OR k.revision < h.revision',
    ),
    0,
    'a write newer than its key',
  );
  database.close();
}
