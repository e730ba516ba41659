import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { LastGoodManifests } from './last-good.ts';

const FOLDER = '/root/last-good';
const FILE = '/etc/manifests/a.yaml';

function bench() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const open = (): LastGoodManifests => new LastGoodManifests({ folder: FOLDER, files, clock, log });
  return { clock, files, log, open };
}

describe('the last good text of each manifest', () => {
  it('is on disk shortly after it was recorded, so that a kill -9 does not restore the previous version', async () => {
    const { clock, open } = bench();
    const killed = open();
    killed.note(FILE, 'one');
    await clock.advance(1000);
    killed.note(FILE, 'two');
    await clock.advance(250);
    assert.equal(await open().recall(FILE), 'two');
  });

  it('is not written immediately, so that it does not slow down the start of a pod', async () => {
    const { clock, files, open } = bench();
    open().note(FILE, 'one');
    await clock.advance(100);
    assert.deepEqual(files.calls, []);
  });

  it('is written in its newest version once the disk accepts it again, and the failure is logged once', async () => {
    const { clock, files, log, open } = bench();
    const memory = open();
    memory.note(FILE, 'one');
    await clock.advance(1000);
    const lift = files.failIo(FOLDER);
    memory.note(FILE, 'two');
    await clock.advance(1000);
    memory.note(FILE, 'three');
    await clock.advance(60_000);
    lift();
    assert.equal(await open().recall(FILE), 'one');
    await clock.advance(15_000);
    assert.equal(await open().recall(FILE), 'three');
    assert.equal(log.lines.length, 1);
  });

  it('leaves no timer after a last write, even a failed one', async () => {
    const { clock, files, open } = bench();
    const memory = open();
    files.failIo(FOLDER);
    memory.note(FILE, 'one');
    await memory.flush();
    assert.equal(clock.armedTimers, 0);
  });
});
