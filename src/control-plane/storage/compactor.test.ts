import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { createCompactor } from './compactor.ts';

/** A store that counts calls, and can be unavailable. */
class CountingStore {
  newest = 1;
  compacted: number[] = [];
  away = false;

  async revision(): Promise<number> {
    if (this.away) throw new KubeletError('Unavailable', 'the store is away');
    return this.newest;
  }

  async compact(revision: number): Promise<void> {
    if (this.away) throw new KubeletError('Unavailable', 'the store is away');
    this.compacted.push(revision);
  }
}

describe('the compactor', () => {
  const MINUTE_MS = 60_000;

  it('compacts up to the revision of the pass five minutes ago, and nothing newer', async () => {
    const [clock, storage] = [new FakeClock(), new CountingStore()];
    const compactor = createCompactor({ storage, clock, random: seededRandom(1), log: recordingLog() });
    compactor.start();
    storage.newest = 10;
    await clock.advance(4 * MINUTE_MS);
    assert.deepEqual(storage.compacted, []);
    for (const newest of [20, 30]) {
      storage.newest = newest;
      await clock.advance(5 * MINUTE_MS);
    }
    await compactor.stop();
    await clock.advance(20 * MINUTE_MS);
    assert.deepEqual([storage.compacted, clock.armedTimers], [[1, 20], 0]);
  });

  it('goes on when the store was away', async () => {
    const [clock, storage, log] = [new FakeClock(), new CountingStore(), recordingLog()];
    const compactor = createCompactor({ storage, clock, random: seededRandom(1), log });
    compactor.start();
    storage.newest = 5;
    await clock.advance(5 * MINUTE_MS);
    storage.away = true;
    await clock.advance(5 * MINUTE_MS);
    storage.away = false;
    await clock.advance(5 * MINUTE_MS);
    await compactor.stop();
    assert.deepEqual([storage.compacted, log.lines.length], [[1, 5], 1]);
  });
});
