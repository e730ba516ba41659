import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import type { StateFileOptions } from './state-file.ts';
import { StateFile } from './state-file.ts';

const path = '/state/value.json';
const isList = (value: unknown): value is number[] => Array.isArray(value);

async function harness(options: Partial<StateFileOptions<unknown>> = {}) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  await files.makeDirectory('/state', 0o700);
  const world = { value: [1] as unknown };
  const file = new StateFile({ path, files, clock, log, snapshot: () => world.value, coalesceMs: 1000, ...options });
  const load = () => StateFile.load({ path, files, log }, isList);
  const writes = (): number => files.calls.filter((call) => call.startsWith('writeFileAtomic')).length;
  return { clock, files, log, world, file, load, writes };
}

describe('a state file', () => {
  it('returns the saved value', async () => {
    const { file, load, world } = await harness();
    world.value = [1, 'ü', { nested: null }];
    file.changed();
    await file.flush();
    assert.deepEqual(await load(), world.value);
  });

  it('is silently empty when it is missing', async () => {
    const { load, log } = await harness();
    assert.deepEqual([await load(), log.lines], [undefined, []]);
  });

  it('is set aside with an error when it is truncated, damaged by any single bit, empty, or of another shape', async () => {
    const { file, files, load, log, world } = await harness();
    file.changed();
    await file.flush();
    const whole = await files.readText(path);
    const flipped = Array.from({ length: whole.length * 8 }, (_, bit) => {
      const bytes = Buffer.from(whole);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      return bytes.toString('latin1');
    });
    for (const text of [whole.slice(0, -5), '', '{}', 'null', ...flipped]) {
      await files.writeFile(path, text, 0o600);
      const value = await load();
      if (value === undefined) assert.equal(await files.stat(path), undefined, `not set aside: ${text}`);
      else assert.deepEqual(value, [1], `another value from ${text}`);
    }
    world.value = { other: 'shape' };
    file.changed();
    await file.flush();
    log.lines.length = 0;
    assert.equal(await load(), undefined);
    assert.deepEqual(
      log.lines.map((line) => [line.level, line.fields['movedTo']]),
      [['error', `${path}.corrupt`]],
    );
  });

  it('is skipped with an error when it cannot be read', async () => {
    const { file, files, load, log } = await harness();
    file.changed();
    await file.flush();
    files.failIo('/state');
    assert.equal(await load(), undefined);
    assert.equal(log.lines.length, 1);
  });

  it('writes changes that arrive close together once, and an unchanged value not again', async () => {
    const { clock, file, writes } = await harness();
    for (let i = 0; i < 10; i++) {
      file.changed();
      await clock.advance(50);
    }
    await clock.advance(1000);
    assert.equal(writes(), 1);
    file.changed();
    await clock.advance(1000);
    await file.flush();
    assert.equal(writes(), 1);
  });

  it('logs a full disk once, saves with the next change after that, and logs it again the next time', async () => {
    const { clock, file, files, load, log, world } = await harness();
    const step = async (value: number): Promise<void> => {
      world.value = [value];
      file.changed();
      await clock.advance(1000);
      await file.flush();
    };
    let free = files.fillDisk('/state');
    for (const value of [1, 2, 3]) await step(value);
    assert.equal(log.lines.length, 1);
    free();
    await step(4);
    assert.deepEqual(await load(), [4]);
    free = files.fillDisk('/state');
    await step(5);
    assert.equal(log.lines.length, 2);
    free();
    await file.flush();
    assert.deepEqual(await load(), [5], 'what could not be saved is saved when the agent exits');
  });

  it('saves what could not be saved as soon as the disk works again, even without another change', async () => {
    const { clock, file, files, load } = await harness({ spacingMs: 10_000, burst: 2 });
    const heal = files.failIo('/state');
    file.changed();
    await clock.advance(60_000);
    heal();
    await clock.advance(2000);
    assert.deepEqual([await load(), clock.armedTimers], [[1], 0]);
  });

  it('has its full write budget after a time in which every write failed', async () => {
    const { clock, file, files, load, world } = await harness({ coalesceMs: 20, spacingMs: 10_000, burst: 2 });
    const heal = files.failIo('/state');
    file.changed();
    await clock.advance(60_000);
    heal();
    await clock.advance(2000);
    world.value = [2];
    file.changed();
    await clock.advance(20);
    assert.deepEqual(await load(), [2]);
  });

  it('creates the folder that could not be created when the agent started', async () => {
    const { clock, file, files, load } = await harness();
    await files.removeTree('/state');
    file.changed();
    await clock.advance(3000);
    assert.deepEqual(await load(), [1]);
  });

  it('keeps no timer when the agent exits while the disk is full', async () => {
    const { clock, file, files } = await harness();
    files.fillDisk('/state');
    file.changed();
    await clock.advance(1000);
    await file.flush();
    assert.equal(clock.armedTimers, 0);
  });

  it('continues after a snapshot that throws', async () => {
    let broken = true;
    const { file, load } = await harness({
      snapshot: () => {
        if (broken) throw new Error('boom');
        return [7];
      },
    });
    file.changed();
    await file.flush();
    broken = false;
    file.changed();
    await file.flush();
    assert.deepEqual(await load(), [7]);
  });

  it('writes nothing when nothing changed', async () => {
    const { clock, file, writes } = await harness();
    await file.flush();
    assert.deepEqual([writes(), clock.armedTimers], [0, 0]);
  });
});

function bench(pace: { coalesceMs: number; spacingMs?: number; burst?: number }) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  files.seed({ '/state/.keep': '' });
  let value = 0;
  const file = new StateFile({
    path: '/state/x.json',
    files,
    clock,
    log: silentLogger,
    snapshot: () => value,
    ...pace,
  });
  const change = (): void => {
    value++;
    file.changed();
  };
  const writes = (): number => files.calls.filter((call) => call.startsWith('writeFileAtomic')).length;
  return { clock, change, writes };
}

describe('the write budget of a state file', () => {
  it('writes the first changes soon, so that a kill -9 costs little, and spaces out what changes all the time', async () => {
    const { clock, change, writes } = bench({ coalesceMs: 20, spacingMs: 10_000, burst: 3 });
    for (let count = 0; count < 3; count++) {
      change();
      await clock.advance(20);
    }
    assert.equal(writes(), 3);
    for (let count = 0; count < 100; count++) {
      change();
      await clock.advance(1000);
    }
    assert.ok(writes() <= 14, `${writes()} writes in 100 s`);
  });

  it('has its full burst again after a quiet time', async () => {
    const { clock, change, writes } = bench({ coalesceMs: 20, spacingMs: 10_000, burst: 3 });
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < 3; count++) {
        change();
        await clock.advance(20);
      }
      await clock.advance(60_000);
    }
    assert.equal(writes(), 6);
  });

  it('keeps the interval from the first write on without a burst', async () => {
    const { clock, change, writes } = bench({ coalesceMs: 20, spacingMs: 10_000 });
    change();
    await clock.advance(20);
    change();
    await clock.advance(9_000);
    assert.equal(writes(), 1);
    await clock.advance(1_000);
    assert.equal(writes(), 2);
  });
});
