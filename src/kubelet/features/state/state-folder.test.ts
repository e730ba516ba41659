import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { StateFolder } from './state-folder.ts';

const isText = (value: unknown): value is string => typeof value === 'string';

function setUp() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const options = { path: '/state/objects', files, clock, log };
  return {
    clock,
    files,
    log,
    options,
    folder: new StateFolder(options),
    load: () => StateFolder.load(options, isText),
  };
}

describe('a folder of values that survive a restart', () => {
  it('returns the newest value of each key that was not dropped', async () => {
    const { folder, load } = setUp();
    folder.put('a', 'old');
    folder.put('a', 'new');
    folder.put('b', 'gone soon');
    await folder.flush();
    folder.drop('b');
    folder.put('c/d', 'third');
    await folder.flush();
    assert.deepEqual(
      await load(),
      new Map([
        ['a', 'new'],
        ['c/d', 'third'],
      ]),
    );
  });

  it('is readable by root only, folder and files', async () => {
    const { folder, files } = setUp();
    folder.put('a', 'secret');
    await folder.flush();
    const [name = ''] = await files.list('/state/objects');
    const [of, file] = await Promise.all([files.stat('/state/objects'), files.stat(`/state/objects/${name}`)]);
    assert.deepEqual([of?.mode, file?.mode], [0o700, 0o600]);
  });

  it('leaves nothing on disk of a dropped value', async () => {
    const { folder, files } = setUp();
    folder.put('a', 'secret');
    await folder.flush();
    folder.drop('a');
    await folder.flush();
    assert.deepEqual(await files.list('/state/objects'), []);
  });

  it('removes and logs a damaged file, and returns the others', async () => {
    const { folder, files, load, log } = setUp();
    folder.put('a', 'one');
    await folder.flush();
    const [name = ''] = await files.list('/state/objects');
    const text = await files.readText(`/state/objects/${name}`);
    folder.put('b', 'two');
    await folder.flush();
    await files.writeFile(`/state/objects/${name}`, text.replace('one', 'uno'), 0o600);
    assert.deepEqual(await load(), new Map([['b', 'two']]));
    assert.deepEqual([(await files.list('/state/objects')).length, log.lines.length], [1, 1]);
  });

  it('logs a failing disk once, and writes when it works again', async () => {
    const { folder, files, clock, load, log } = setUp();
    files.fail('writeFileAtomic', { below: '/state', kind: 'Unavailable', times: 2 });
    folder.put('a', 'value');
    await clock.advance(1_000);
    folder.put('a', 'newer');
    await clock.advance(4_000);
    assert.deepEqual([await load(), log.lines.length], [new Map([['a', 'newer']]), 1]);
  });
});
