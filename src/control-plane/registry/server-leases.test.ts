import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { SqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { ServerLeases } from './server-leases.ts';
import { createServerLeases } from './server-leases.ts';
import { FaultyStorage } from './testing/faulty-storage.ts';

let folder: string;
let clock: FakeClock;
let store: SqliteStorage;
const random = seededRandom(1);

interface Server extends ServerLeases {
  /** The addresses that the server knew at each change. */
  readonly seen: string[];
  readonly storage: FaultyStorage;
}

function server(address: string): Server {
  const storage = new FaultyStorage(store, clock, random);
  const seen: string[] = [];
  const leases: ServerLeases = createServerLeases({
    ...{ storage, address, clock, random, log: recordingLog() },
    onChange: () => void seen.push(leases.addresses().join()),
  });
  return { ...leases, seen, storage };
}

/** Writes a key of its own after all earlier writes, so that their watches have been notified. */
async function written(): Promise<void> {
  const { revision = 0 } = (await store.get('/test/barrier')) ?? {};
  await store.put('/test/barrier', '', { expected: revision });
}

/** Advances the time in steps, so that the store runs what is due in each step. */
async function elapse(seconds: number): Promise<void> {
  for (let step = 0; step < seconds; step += 1) {
    await clock.advance(1000);
    await written();
  }
}

describe('leases of API servers', () => {
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'server-leases-'));
    clock = new FakeClock();
    store = new SqliteStorage({ file: path.join(folder, 'state.db'), clock, log: recordingLog() });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('each server knows the others, and notices at once when one has stopped', async () => {
    const [one, two] = [server('192.0.2.1'), server('192.0.2.2')];
    await one.start();
    await two.start();
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1,192.0.2.2');
    assert.deepEqual(two.addresses(), ['192.0.2.1', '192.0.2.2']);
    await two.stop();
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1');
    await one.stop();
    assert.deepEqual((await store.list('/registry/masterleases/')).items, []);
  });

  it('a server that no longer renews its lease is dropped, and one that does is not', async () => {
    const [one, two] = [server('192.0.2.1'), server('192.0.2.2')];
    await one.start();
    await two.start();
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1,192.0.2.2');
    two.storage.faults = { ...two.storage.faults, refuse: 1 };
    await elapse(12);
    assert.deepEqual(one.addresses(), ['192.0.2.1', '192.0.2.2']);
    await elapse(8);
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1');
    assert.deepEqual(two.addresses().includes('192.0.2.2'), true, 'it does not count itself out');
    two.storage.faults = { ...two.storage.faults, refuse: 0 };
    await elapse(12);
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1,192.0.2.2');
    await one.stop();
    await two.stop();
  });

  it('a server whose lease was deleted by another client creates it again at once', async () => {
    const one = server('192.0.2.1');
    await one.start();
    const key = '/registry/masterleases/192.0.2.1';
    const { revision } = (await store.get(key)) ?? assert.fail('no lease');
    await store.delete(key, revision);
    await elapse(1);
    assert.ok(((await store.get(key))?.revision ?? 0) > revision);
    await one.stop();
  });

  it('two servers behind one address count as one', async () => {
    const [one, two] = [server('192.0.2.9'), server('192.0.2.9')];
    await one.start();
    await two.start();
    await elapse(25);
    assert.deepEqual([one.addresses(), two.addresses()], [['192.0.2.9'], ['192.0.2.9']]);
    await one.stop();
    await two.stop();
  });

  it('servers are listed again after the watch has ended', async () => {
    const [one, two] = [server('192.0.2.1'), server('192.0.2.2')];
    await one.start();
    one.storage.endWatches({ kind: 'Compacted' });
    await two.start();
    await elapse(12);
    await written();
    assert.equal(one.seen.at(-1), '192.0.2.1,192.0.2.2');
    await one.stop();
    await two.stop();
  });
});
