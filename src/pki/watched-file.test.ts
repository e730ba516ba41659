import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { recordingLog } from '../base/testing/recording-log.ts';
import { WatchedFile } from './watched-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'watched-'));
after(() => rmSync(folder, { recursive: true }));

it('a watched file counts as it is now, and as it last was when it is broken', async () => {
  const file = path.join(folder, 'tokens');
  const [clock, log] = [new FakeClock(), recordingLog()];
  const parse = (content: string): number => {
    if (!/^[0-9]+$/.test(content)) throw new Error('no number');
    return Number(content);
  };
  writeFileSync(file, 'x');
  assert.throws(() => new WatchedFile({ file, parse, clock, log }), /no number/);
  writeFileSync(file, '1');
  const watched = new WatchedFile({ file, parse, clock, log });
  const seen: number[] = [];
  watched.onChange((value) => seen.push(value));
  watched.start();
  writeFileSync(path.join(folder, 'new'), '2');
  renameSync(path.join(folder, 'new'), file);
  await clock.advance(60_000);
  assert.equal(watched.value, 2);
  writeFileSync(file, 'broken');
  await clock.advance(60_000);
  assert.deepEqual([watched.value, seen], [2, [2]]);
  await clock.advance(600_000);
  assert.deepEqual(
    log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['error']),
    ['no number'],
    'said once, not each minute',
  );
  rmSync(file);
  watched.refresh();
  assert.equal(watched.value, 2);
  watched.stop();
  assert.equal(clock.armedTimers, 0);
});
