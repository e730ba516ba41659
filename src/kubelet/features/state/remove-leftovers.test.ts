import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { removeLeftovers } from './remove-leftovers.ts';

async function folderWith(...names: string[]) {
  const files = new FakeHostFiles(new FakeClock());
  await files.makeDirectory('/root', 0o700);
  for (const name of names) await files.writeFile(`/root/${name}`, '', 0o600);
  return { files, log: recordingLog() };
}

test('unfinished files of a killed agent are removed, and nothing else', async () => {
  const kept = ['state', '.hidden', '.state.tmp', 'state.0123456789ab.tmp', '.state.0123456789AB.tmp'];
  const { files, log } = await folderWith(...kept, '.state.0123456789ab.tmp', '.other.state.ffffffffffff.tmp');
  await removeLeftovers(['/missing', '/root'], { files, log });
  assert.deepEqual((await files.list('/root')).toSorted(), kept.toSorted());
  assert.deepEqual(log.lines, []);
});

test('a file that cannot be removed is named, and the others still go', async () => {
  const { files, log } = await folderWith('.a.0123456789ab.tmp', '.b.0123456789ab.tmp');
  const stubborn = {
    list: (path: string) => files.list(path),
    remove: (path: string) =>
      path.endsWith('/.a.0123456789ab.tmp') ? Promise.reject(new Error('no')) : files.remove(path),
  };
  await removeLeftovers(['/root'], { files: stubborn, log });
  assert.deepEqual(await files.list('/root'), ['.a.0123456789ab.tmp']);
  assert.equal(log.lines.length, 1);
});
