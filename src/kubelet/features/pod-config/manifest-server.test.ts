import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { AcceptedManifests } from './accepted-manifests.ts';
import { createManifestServer, readManifestToken } from './manifest-server.ts';
import { ManifestObjects } from './manifest-objects.ts';

const FOLDER = '/root/manifests-accepted';
const TOKEN = 'a-token-long-enough';
const podText = (name: string, image = 'a'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: ${image}}]}\n`;

interface Bench {
  readonly files: FakeHostFiles;
  readonly log: RecordingLog;
  readonly manifests: AcceptedManifests;
  readonly objects: ManifestObjects;
  readonly emitted: string[];
  readonly call: (
    method: string,
    path: string,
    options?: { body?: string; token?: string | undefined },
  ) => Promise<[number, Record<string, unknown>]>;
}

async function bench(files = new FakeHostFiles(new FakeClock())): Promise<Bench> {
  const log = recordingLog();
  const emitted: string[] = [];
  const objects = new ManifestObjects();
  const rules = {
    nodeName: 'n',
    standalone: true,
    validate: (pod: { spec: { containers: { image?: string }[] } }) =>
      pod.spec.containers[0]?.image === 'BAD' ? [{ field: 'spec', message: 'Invalid' }] : [],
  };
  const manifests = new AcceptedManifests({
    folder: FOLDER,
    rules,
    files,
    log,
    objects,
    setPods: (pods) =>
      emitted.push(pods.map((pod) => `${pod.metadata.name}=${pod.spec.containers[0]?.image}`).join(' ')),
  });
  await manifests.start();
  const app = createManifestServer({ manifests, token: () => TOKEN, log });
  const call: Bench['call'] = async (method, path, { body, token = TOKEN } = {}) => {
    const response = await app.request(path, {
      method,
      body,
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    return [response.status, text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text }];
  };
  return { files, log, manifests, objects, emitted, call };
}

test('a manifest is accepted, reported, read back, replaced and deleted', async () => {
  const made = await bench();
  const [created, body] = await made.call('PUT', '/manifests/web', { body: podText('a') });
  assert.deepEqual([created, body['name'], (body['pods'] as { name: string }[])[0]?.name], [201, 'web', 'a-n']);
  assert.deepEqual(await made.call('GET', '/manifests/web'), [200, { text: podText('a') }]);
  assert.equal((await made.call('PUT', '/manifests/web', { body: podText('a', 'b') }))[0], 200);
  const [, list] = await made.call('GET', '/manifests');
  assert.equal((list['items'] as unknown[]).length, 1);
  assert.deepEqual(await made.call('DELETE', '/manifests/web'), [200, { deleted: 'web' }]);
  assert.deepEqual(
    [(await made.call('GET', '/manifests/web'))[0], (await made.call('DELETE', '/manifests/web'))[0]],
    [404, 404],
  );
  assert.deepEqual(made.emitted, ['', 'a-n=a', 'a-n=b', '']);
});

test('without the token, or with another, nothing is returned and nothing changes', async () => {
  const made = await bench();
  for (const token of ['', 'wrong', `${TOKEN}x`]) {
    for (const [method, path] of [
      ['GET', '/manifests'],
      ['PUT', '/manifests/web'],
      ['DELETE', '/manifests/web'],
      ['GET', '/elsewhere'],
    ] as const) {
      assert.equal(
        (await made.call(method, path, { token, ...(method === 'PUT' ? { body: podText('a') } : {}) }))[0],
        401,
      );
    }
  }
  assert.deepEqual(made.emitted, ['']);
});

test('accepted manifests survive a restart of the agent', async () => {
  const first = await bench();
  await first.call('PUT', '/manifests/web', { body: podText('a') });
  await first.call('POST', '/manifests/db', { body: podText('b') });
  const second = await bench(first.files);
  assert.deepEqual(second.emitted, ['b-n=a a-n=a']);
});

test('POST does not replace', async () => {
  const made = await bench();
  assert.deepEqual(
    [
      (await made.call('POST', '/manifests/web', { body: podText('a') }))[0],
      (await made.call('POST', '/manifests/web', { body: podText('b') }))[0],
    ],
    [201, 409],
  );
});

test('an invalid manifest is rejected completely, with file and line, and changes nothing', async () => {
  const made = await bench();
  await made.call('PUT', '/manifests/web', { body: podText('a') });
  const [status, body] = await made.call('PUT', '/manifests/web', {
    body: `${podText('ok')}---\n${podText('b', 'BAD')}`,
  });
  assert.deepEqual(
    [status, body['problems']],
    [422, [{ file: 'manifests/web', line: 9, column: 1, path: 'spec', message: 'pod default/b: Invalid' }]],
  );
  assert.equal((await made.call('PUT', '/manifests/web', { body: 'kind: [' }))[0], 422);
  assert.deepEqual(
    [made.emitted.at(-1), (await made.call('GET', '/manifests/web'))[1]],
    ['a-n=a', { text: podText('a') }],
  );
});

test('a pod that another accepted manifest defines is rejected', async () => {
  const made = await bench();
  await made.call('PUT', '/manifests/one', { body: podText('a') });
  assert.equal((await made.call('PUT', '/manifests/two', { body: podText('a', 'b') }))[0], 422);
  assert.equal((await made.call('PUT', '/manifests/one', { body: podText('a', 'b') }))[0], 200);
});

test('names that could be paths are rejected', async () => {
  const made = await bench();
  for (const name of ['..%2fetc', '.hidden', 'A', 'a%00', 'a/b', 'x'.repeat(201)]) {
    const [status] = await made.call('PUT', `/manifests/${name}`, { body: podText('a') });
    assert.ok(status === 400 || status === 404, `${name}: ${status}`);
  }
  assert.deepEqual(await made.files.list('/root'), []);
});

test('a body over 10 MB is rejected', async () => {
  const made = await bench();
  assert.equal((await made.call('PUT', '/manifests/web', { body: '#'.repeat(10 * 1024 * 1024 + 1) }))[0], 413);
});

test('a manifest that cannot be stored does not take effect', async () => {
  const made = await bench();
  made.files.fillDisk();
  assert.equal((await made.call('PUT', '/manifests/web', { body: podText('a') }))[0], 503);
  assert.deepEqual(made.emitted, ['']);
});

test('a damaged stored manifest is set aside and reported, and does not delay the others', async () => {
  const first = await bench();
  await first.call('PUT', '/manifests/web', { body: podText('a') });
  await first.call('PUT', '/manifests/db', { body: podText('b') });
  await first.files.writeFile(`${FOLDER}/web.manifest`, '\0\0\0', 0o600);
  const second = await bench(first.files);
  assert.deepEqual(
    [second.emitted, await second.files.list(FOLDER), second.manifests.problems().length],
    [['b-n=a'], ['db.manifest', 'web.manifest.corrupt'], 1],
  );
  assert.ok(second.log.lines.some((line) => line.level === 'error' && line.message.includes('damaged')));
});

test('ConfigMaps of an accepted manifest can be looked up until it is deleted', async () => {
  const made = await bench();
  await made.call('PUT', '/manifests/m', {
    body: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: v}\n',
  });
  assert.deepEqual(made.objects.configMap('default', 'm')?.data, { k: 'v' });
  await made.call('DELETE', '/manifests/m');
  assert.equal(made.objects.configMap('default', 'm'), undefined);
});

test('the token file must be readable by root only and contain a token that is long enough', async () => {
  const files = new FakeHostFiles(new FakeClock());
  await files.makeDirectory('/etc', 0o755);
  const token = async (content: string, mode: number, uid = 0): Promise<string> => {
    await files.remove('/etc/token');
    await files.writeFile('/etc/token', content, mode);
    await files.chown('/etc/token', uid, 0);
    return readManifestToken(files, '/etc/token');
  };
  assert.equal(await token(`${TOKEN}\n`, 0o600), TOKEN);
  await assert.rejects(token(TOKEN, 0o644), { kind: 'Invalid' });
  await assert.rejects(token(TOKEN, 0o600, 1000), { kind: 'Invalid' });
  await assert.rejects(token('short', 0o600), { kind: 'Invalid' });
  await assert.rejects(readManifestToken(files, '/etc/missing'), { kind: 'NotFound' });
});
