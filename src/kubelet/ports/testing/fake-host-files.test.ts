import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeHostFiles } from './fake-host-files.ts';
import { FakeMounts } from './fake-mounts.ts';
import { hostFilesContract } from './host-files-contract.ts';

hostFilesContract('fake', async () => {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  await files.makeDirectory('/work', 0o755);
  return { files, root: '/work', settle: () => clock.settle(), end: async () => undefined };
});

test('a scripted fault applies only below its path and only as often as requested', async () => {
  const files = new FakeHostFiles(new FakeClock());
  files.fail('readText', { below: '/a', kind: 'Timeout', times: 1 });
  files.seed({ '/a/f': '1', '/b/f': '2' });
  assert.equal(await files.readText('/b/f'), '2');
  await assert.rejects(files.readText('/a/f'), (error) => errorKind(error) === 'Timeout');
  assert.equal(await files.readText('/a/f'), '1');
});

test('a full disk rejects writes until it ends, and still lets files be removed', async () => {
  const files = new FakeHostFiles(new FakeClock());
  files.seed({ '/a/f': '1' });
  const end = files.fillDisk('/a');
  await assert.rejects(files.writeFile('/a/g', 'x', 0o644), /no space left/);
  await files.remove('/a/f');
  end();
  await files.writeFile('/a/g', 'x', 0o644);
});

test('calls on a hanging path wait, others proceed, and all finish when it recovers', async () => {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  files.seed({ '/dead/f': '1', '/alive/f': '2' });
  const release = files.hang('/dead');
  let answered = false;
  const waiting = files.stat('/dead/f').then(() => (answered = true));
  assert.equal(await files.readText('/alive/f'), '2');
  await clock.settle();
  assert.equal(answered, false);
  release();
  await waiting;
});

test('a mount hides the directory, is another device, and stops removeTree', async () => {
  const files = new FakeHostFiles(new FakeClock());
  const mounts = new FakeMounts(files);
  files.seed({ '/pods/v/below': 'covered' });
  await mounts.mountTmpfs('/pods/v', { sizeBytes: 10, mode: 0o777 });
  assert.deepEqual(await files.list('/pods/v'), []);
  await files.writeFile('/pods/v/f', 'x', 0o644);
  assert.notEqual((await files.stat('/pods/v'))?.device, (await files.stat('/pods'))?.device);
  await assert.rejects(files.removeTree('/pods'), (error) => errorKind(error) === 'Unavailable');
  await mounts.unmount('/pods/v');
  await mounts.unmount('/pods/v');
  assert.deepEqual(await files.list('/pods/v'), ['below']);
  await files.removeTree('/pods');
});
