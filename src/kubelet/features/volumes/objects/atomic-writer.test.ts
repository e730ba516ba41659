import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../../base/errors.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { AtomicWriter } from './atomic-writer.ts';
import type { Payload } from './payload.ts';

const V = '/v';

function world() {
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const files = new FakeHostFiles(clock);
  files.seed({ '/etc/passwd': 'root', '/v/.keep': '' });
  const log = recordingLog();
  return { clock, files, log, writer: new AtomicWriter({ files, clock, random: seededRandom(7), log }) };
}

const payload = (content: Record<string, string>, mode = 0o644): Payload =>
  new Map(Object.entries(content).map(([name, text]) => [name, { content: new TextEncoder().encode(text), mode }]));
const hiddenOf = async (files: FakeHostFiles): Promise<string[]> =>
  (await files.list(V)).filter((name) => name.startsWith('..2'));

test('files are links into a hidden folder that a rename swaps', async () => {
  const { files, writer } = world();
  assert.equal(await writer.write(V, payload({ a: '1', 'dir/b': '2' }, 0o400)), true);
  const [hidden = ''] = await hiddenOf(files);
  assert.match(hidden, /^\.\.2026_01_02_03_04_05\.\d+$/);
  assert.deepEqual(
    [await files.readLink(`${V}/..data`), await files.readLink(`${V}/a`), await files.readLink(`${V}/dir`)],
    [hidden, '..data/a', '..data/dir'],
  );
  assert.deepEqual(
    [files.peek(`${V}/a`), files.peek(`${V}/dir/b`), (await files.stat(`${V}/a`))?.mode],
    ['1', '2', 0o400],
  );
});

test('unchanged content is not written again, a changed, added or removed file is', async () => {
  const { files, writer } = world();
  await writer.write(V, payload({ a: '1', b: '2' }));
  const first = await hiddenOf(files);
  assert.equal(await writer.write(V, payload({ b: '2', a: '1' })), false);
  assert.deepEqual(await hiddenOf(files), first);
  assert.equal(await writer.write(V, payload({ a: '1', c: '3' })), true);
  assert.deepEqual(
    [files.peek(`${V}/a`), await files.lstat(`${V}/b`), files.peek(`${V}/c`), (await hiddenOf(files)).length],
    ['1', undefined, '3', 1],
  );
  assert.notDeepEqual(await hiddenOf(files), first);
});

test('a removed visible link is restored without a rewrite', async () => {
  const { files, writer } = world();
  await writer.write(V, payload({ a: '1' }));
  await files.remove(`${V}/a`);
  assert.equal(await writer.write(V, payload({ a: '1' })), false);
  assert.equal(files.peek(`${V}/a`), '1');
});

test('a failure leaves the old content visible and no half-written folder; leftovers of a crash are removed', async () => {
  const { files, writer } = world();
  await writer.write(V, payload({ a: 'old' }));
  const end = files.fail('makeTree', { below: V, kind: 'Unavailable' });
  await assert.rejects(writer.write(V, payload({ a: 'new' })));
  assert.deepEqual([files.peek(`${V}/a`), (await hiddenOf(files)).length], ['old', 1]);
  end();
  await files.makeDirectory(`${V}/..2020_01_01_00_00_00.1/x`, 0o755);
  await files.symlink('..2020_01_01_00_00_00.1', `${V}/..data_tmp`);
  await writer.write(V, payload({ a: 'new' }));
  assert.deepEqual(
    [files.peek(`${V}/a`), (await hiddenOf(files)).length, await files.lstat(`${V}/..data_tmp`)],
    ['new', 1, undefined],
  );
});

test('a data link swapped for one to the host deletes and overwrites nothing there', async () => {
  for (const target of ['/etc', '../etc', '..', '..2026_01_01_00_00_00.1/../../etc']) {
    const { files, writer, log } = world();
    await writer.write(V, payload({ a: '1' }));
    await files.remove(`${V}/..data`);
    await files.symlink(target, `${V}/..data`);
    await writer.write(V, payload({ passwd: 'evil' }));
    assert.deepEqual(
      [files.peek('/etc/passwd'), await files.list('/etc'), files.peek(`${V}/passwd`)],
      ['root', ['passwd'], 'evil'],
    );
    assert.equal(log.lines.filter((line) => line.level === 'warn').length, 1);
  }
});

test('hidden folders and visible names swapped for links to the host are not followed', async () => {
  const { files, writer } = world();
  await writer.write(V, payload({ a: '1', gone: 'x' }));
  const [hidden = ''] = await hiddenOf(files);
  await files.removeTree(`${V}/${hidden}`);
  await files.symlink('/etc', `${V}/${hidden}`);
  await files.remove(`${V}/gone`);
  await files.symlink('/etc/passwd', `${V}/gone`);
  await files.symlink('/etc/passwd', `${V}/..2019_01_01_00_00_00.5`);
  await writer.write(V, payload({ a: '2' }));
  assert.deepEqual(
    [files.peek('/etc/passwd'), await files.list('/etc'), files.peek(`${V}/a`)],
    ['root', ['passwd'], '2'],
  );
});

test('a data link that became a folder or a file is replaced', async () => {
  for (const kind of ['directory', 'file'] as const) {
    const { files, writer } = world();
    await writer.write(V, payload({ a: '1' }));
    await files.remove(`${V}/..data`);
    if (kind === 'file') await files.writeFile(`${V}/..data`, 'x', 0o644);
    else await files.makeDirectory(`${V}/..data/a/b`, 0o755);
    await files.makeDirectory(`${V}/..data_tmp/x`, 0o755);
    assert.equal(await writer.write(V, payload({ a: '2' })), true);
    assert.deepEqual(
      [files.peek(`${V}/a`), (await hiddenOf(files)).length, await files.lstat(`${V}/..data_tmp`)],
      ['2', 1, undefined],
      kind,
    );
  }
});

test('paths that leave the volume, or belong to the writer, are rejected before anything is written', async () => {
  const { files, writer } = world();
  for (const name of [
    '',
    '/etc/passwd',
    '../x',
    'a/../../x',
    '..data',
    '..2026',
    'x/../..',
    './..x',
    `${'n'.repeat(256)}`,
    'a\0b',
    '.',
  ]) {
    await assert.rejects(
      writer.write(V, payload({ [name]: 'x' })),
      (error) => errorKind(error) === 'Invalid',
      JSON.stringify(name),
    );
  }
  assert.deepEqual(await files.list(V), ['.keep']);
  await writer.write(V, payload({ '.a': 'dotted names are fine' }));
});

test('the group of the pod can read all files and enter all folders', async () => {
  const { files, writer } = world();
  await writer.write(V, payload({ 'd/a': '1' }, 0o400), 2000);
  const seen = await Promise.all([V, `${V}/..data`, `${V}/..data/d`, `${V}/d/a`].map(async (name) => files.stat(name)));
  assert.deepEqual(
    seen.map((info) => [info?.gid, info?.mode.toString(8)]),
    [
      [2000, '2755'],
      [2000, '2755'],
      [2000, '2755'],
      [2000, '440'],
    ],
  );
});
