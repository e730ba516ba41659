import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { CheckpointFile } from './checkpoint-file.ts';

const path = '/root/cpu_manager_state';

async function world(text?: string) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  await files.makeDirectory('/root', 0o755);
  if (text !== undefined) await files.writeFileAtomic(path, text, 0o600);
  const file = await CheckpointFile.open({ path, files, clock, log });
  return { clock, files, log, file };
}

test('the content of an earlier agent is read, and kept while nothing changes', async () => {
  const { file, files, clock } = await world('old');
  assert.equal(file.text, 'old');
  file.follow(() => 'old');
  file.changed();
  await clock.advance(1000);
  assert.equal(await files.readText(path), 'old');
});

test('a change is written soon, and at once by a flush', async () => {
  const { file, files, clock } = await world();
  let text = 'one';
  file.follow(() => text);
  await clock.advance(1000);
  assert.equal(files.peek(path), undefined);
  file.changed();
  await clock.advance(100);
  assert.equal(await files.readText(path), 'one');
  text = 'two';
  file.changed();
  await file.flush();
  assert.equal(await files.readText(path), 'two');
});

test('a file that cannot be used is kept under another name, and its place is written again', async () => {
  const { file, files, log } = await world('damaged');
  file.setAside('it is not valid JSON');
  file.follow(() => 'new');
  await file.flush();
  assert.deepEqual([await files.readText(`${path}.corrupt`), await files.readText(path)], ['damaged', 'new']);
  assert.deepEqual(log.lines[0]?.fields, { path, movedTo: `${path}.corrupt`, why: 'it is not valid JSON' });
});

test('a missing folder is made at the next try', async () => {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const file = await CheckpointFile.open({ path: '/var/lib/kubelet/state', files, clock, log });
  file.follow(() => 'text');
  await file.flush();
  await clock.advance(5000);
  await file.flush();
  assert.equal(await files.readText('/var/lib/kubelet/state'), 'text');
});

test('many changes share one write, and a failed write is logged once until one succeeds', async () => {
  const { file, files, log, clock } = await world();
  const errors = (): number => log.lines.filter(({ level }) => level === 'error').length;
  let text = 'one';
  file.follow(() => text);
  const end = files.fail('writeFileAtomic', { below: path, kind: 'Unavailable' });
  for (let change = 0; change < 50; change++) file.changed();
  await clock.advance(10_000);
  assert.equal(errors(), 1);
  end();
  await clock.advance(2000);
  assert.equal(await files.readText(path), 'one');
  files.fail('writeFileAtomic', { below: path, kind: 'Unavailable', times: 1 });
  text = 'two';
  file.changed();
  await clock.advance(200);
  assert.equal(errors(), 2);
  await clock.advance(2000);
  assert.equal(await files.readText(path), 'two');
});

test('a file that cannot be read is logged and counts as missing, and a missing one is not logged', async () => {
  const { files, log, clock, file } = await world();
  assert.deepEqual([file.text, log.lines], [undefined, []]);
  files.fail('readText', { below: path, kind: 'Unavailable', times: 1 });
  const unread = await CheckpointFile.open({ path, files, clock, log });
  assert.deepEqual([unread.text, log.lines.length], [undefined, 1]);
});

/** Returns the writes of a checkpoint that changes while `act` runs. */
function watchWrites(files: FakeHostFiles): { readonly text: string; readonly survivesPowerCut?: boolean }[] {
  const writes: { text: string; survivesPowerCut?: boolean }[] = [];
  const write = files.writeFileAtomic.bind(files);
  const writeFileAtomic: HostFiles['writeFileAtomic'] = (at, text, mode, options) => {
    writes.push({ text: String(text), ...options });
    return write(at, text, mode);
  };
  Object.assign(files, { writeFileAtomic });
  return writes;
}

test('an unchanged checkpoint is not written, and a write does not wait for the disk', async () => {
  const { file, files, clock } = await world('old');
  const writes = watchWrites(files);
  let text = 'old';
  file.follow(() => text);
  file.changed();
  await clock.advance(1000);
  assert.deepEqual(writes, []);
  text = 'new';
  for (let times = 0; times < 2; times++) {
    file.changed();
    await clock.advance(1000);
  }
  assert.deepEqual(writes, [{ text: 'new', survivesPowerCut: false }]);
});

test('nothing is written before it is known what to write', async () => {
  const { file, files } = await world();
  const writes = watchWrites(files);
  await file.flush();
  assert.deepEqual(writes, []);
});

test('the folder is made only where it is missing', async () => {
  const { file, files, clock } = await world();
  const made: string[] = [];
  const make = files.makeDirectory.bind(files);
  files.makeDirectory = (at, mode) => {
    made.push(at);
    return make(at, mode);
  };
  file.follow(() => 'text');
  files.fail('writeFileAtomic', { below: path, kind: 'Unavailable', times: 1 });
  await file.flush();
  await clock.advance(3000);
  assert.deepEqual([made, await files.readText(path)], [[], 'text']);
});

test('a file of several mebibytes is read, and one that is too large is not', async () => {
  const { file, files, clock, log } = await world('x'.repeat(15 * 1024 * 1024));
  assert.equal(file.text?.length, 15 * 1024 * 1024);
  await files.writeFileAtomic(path, 'x'.repeat(16 * 1024 * 1024 + 1), 0o600);
  const large = await CheckpointFile.open({ path, files, clock, log });
  assert.deepEqual([large.text, log.lines.length], [undefined, 1]);
});

test('a file that cannot be set aside is logged, and written over', async () => {
  const { file, files, log } = await world('damaged');
  files.fail('rename', { below: path, kind: 'Unavailable', times: 1 });
  file.setAside('why');
  file.follow(() => 'damaged');
  await file.flush();
  assert.deepEqual(
    log.lines.map(({ message }) => message),
    ['a state file cannot be used; it was set aside and its content is rebuilt', 'a state file could not be set aside'],
  );
});
