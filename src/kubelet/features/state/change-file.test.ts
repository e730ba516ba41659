import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { ChangeFile } from './change-file.ts';

const path = '/state/changes';

async function harness() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  await files.makeDirectory('/state', 0o700);
  const known = new Map<string, number>();
  const file = new ChangeFile({ path, files, clock, log, snapshot: () => [...known] });
  const say = (name: string, value: number): void => {
    known.set(name, value);
    file.changed([name, value]);
  };
  const load = () => ChangeFile.load({ path, files, log });
  const read = async () => Object.fromEntries((await load()).entries as [string, number][]);
  const writes = (): string[] =>
    files.calls.filter((call) => /^(writeFileAtomic|appendFile)/.test(call)).map((call) => call.replace(/[( ].*$/, ''));
  return { clock, files, log, known, file, say, load, read, writes };
}

describe('a change file', () => {
  it('contains a change as soon as it is noted, without any delay', async () => {
    const { clock, say, read } = await harness();
    say('a', 1);
    await clock.advance(0);
    say('a', 2);
    say('b', 3);
    await clock.advance(0);
    assert.deepEqual(await read(), { a: 2, b: 3 });
  });

  it('is written as a whole once and then appended to, with changes merged during a write', async () => {
    const { clock, say, writes } = await harness();
    for (let round = 0; round < 3; round++) {
      for (let value = 0; value < 50; value++) say('a', value);
      await clock.advance(0);
    }
    assert.deepEqual(writes(), [
      'writeFileAtomic',
      'appendFile',
      'appendFile',
      'appendFile',
      'appendFile',
      'appendFile',
    ]);
  });

  it('that holds nothing is whole, not corrupt; one that lost its content is set aside', async () => {
    const { clock, files, log, known, file, load } = await harness();
    known.delete('a');
    file.changed(['a', 0]);
    await clock.advance(0);
    assert.deepEqual(await load(), { entries: [], isWhole: true });
    assert.deepEqual(log.lines, []);
    await files.writeFile(path, '', 0o600);
    assert.deepEqual(await load(), { entries: [], isWhole: false });
    assert.equal(log.lines.length, 1);
  });

  it('that held nothing takes changes', async () => {
    const { clock, file, say, read } = await harness();
    file.changed(['a', 0]);
    await clock.advance(0);
    say('b', 1);
    await clock.advance(0);
    assert.deepEqual(await read(), { b: 1 });
  });

  it('does not grow for ever', async () => {
    const { clock, files, say, read } = await harness();
    for (let value = 0; value < 5000; value++) {
      say('a', value);
      if (value % 10 === 0) await clock.advance(0);
    }
    await clock.advance(0);
    assert.deepEqual(await read(), { a: 4999 });
    assert.ok((files.peek(path) ?? '').split('\n').length <= 1002);
  });

  it('is silently empty when it is missing', async () => {
    const { load, log } = await harness();
    assert.deepEqual([await load(), log.lines], [{ entries: [], isWhole: false }, []]);
  });

  it('is not whole when its last line was cut, and set aside when it is empty or damaged by any single bit', async () => {
    const { clock, files, say, load, log } = await harness();
    say('a', 1);
    await clock.advance(0);
    say('b', 2);
    await clock.advance(0);
    const text = await files.readText(path);
    await files.writeFile(path, text.slice(0, -3), 0o600);
    assert.deepEqual([await load(), log.lines.length], [{ entries: [['a', 1]], isWhole: false }, 0]);
    for (let bit = 0; bit < text.length * 8; bit++) {
      const bytes = Buffer.from(text);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      await files.writeFile(path, bytes.toString('latin1'), 0o600);
      const { entries, isWhole } = await load();
      // The last character is the line break. Without it the line counts as truncated.
      assert.deepEqual(
        [entries, isWhole],
        bit >> 3 === text.length - 1 ? [[['a', 1]], false] : [[], false],
        `bit ${bit}`,
      );
      if (entries.length === 0) assert.equal(await files.stat(path), undefined, 'set aside');
    }
    await files.writeFile(path, '', 0o600);
    assert.deepEqual([await load(), await files.stat(path)], [{ entries: [], isWhole: false }, undefined]);
  });

  it('is written as a whole when the disk works again, and the failure is logged once', async () => {
    const { clock, files, say, read, log } = await harness();
    say('a', 1);
    await clock.advance(0);
    const lift = files.fillDisk('/state');
    say('a', 2);
    await clock.advance(5000);
    say('b', 3);
    await clock.advance(5000);
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['error'],
    );
    lift();
    await clock.advance(2000);
    assert.deepEqual(await read(), { a: 2, b: 3 });
    assert.equal(clock.armedTimers, 0);
  });

  it('creates the folder that could not be created when the agent started', async () => {
    const { clock, files, say, read } = await harness();
    await files.removeTree('/state');
    say('a', 1);
    await clock.advance(2000);
    assert.deepEqual(await read(), { a: 1 });
  });

  it('keeps no timer when the agent exits while the disk is full', async () => {
    const { clock, files, file, say } = await harness();
    files.fillDisk('/state');
    say('a', 1);
    await clock.advance(3000);
    await file.flush();
    assert.equal(clock.armedTimers, 0);
  });

  it('reports when all changes noted so far are written, despite later changes', async () => {
    const { clock, files, file, say, read } = await harness();
    const reached: string[] = [];
    await file.written(1000);
    say('a', 1);
    const release = files.hang(path);
    say('a', 2);
    void file.written(1000).then(() => reached.push('a'));
    await clock.advance(900);
    assert.deepEqual(reached, []);
    release();
    await clock.advance(0);
    assert.deepEqual([reached, await read(), clock.armedTimers], [['a'], { a: 2 }, 0]);
  });

  it('says so after the time limit where the disk hangs, and at once where it is full', async () => {
    const { clock, files, file, say } = await harness();
    const release = files.hang(path);
    say('a', 1);
    let isOver = false;
    void file.written(1000).then(() => (isOver = true));
    await clock.advance(999);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true);
    release();
    await clock.advance(0);
    files.fillDisk('/state');
    say('a', 2);
    await file.written(1000);
    say('a', 3);
    await file.written(1000);
    await file.flush();
    assert.equal(clock.armedTimers, 0);
  });

  it('contains a change that was noted in the moment in which a write ended', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const { clock, say, read } = await harness();
      say('a', 1);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      say('b', 2);
      await clock.advance(0);
      assert.deepEqual(await read(), { a: 1, b: 2 }, `after ${turns} turns`);
    }
  });
});
