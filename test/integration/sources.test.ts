// The sources of pods: folder, URL and HTTP. An error in one manifest must not affect the others.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/up/agent.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { podName } from './support/agent.ts';
import { container, pod } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';
import { containerId, isReady } from './support/watch.ts';

const TOKEN = 'a token of some length';
/** The contents that the URL source gets, and its requests. */
const remote = {
  body: JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] }),
  headers: {} as IncomingHttpHeaders,
  requests: 0,
  status: 200,
};
let server: Server;
let serverPort = 0;

before(() => {
  server = createServer((request, response) => {
    remote.headers = request.headers;
    remote.requests++;
    response.writeHead(remote.status, { 'content-type': 'application/json' }).end(remote.body);
  });
  return new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});
after(() => server.close());

const fixture = agentFixture({
  name: 'sources',
  agent: async ({ instance }) => {
    serverPort = await freePort(0);
    const tokenFile = join(instance.dataDir, 'token');
    writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
    return {
      config: {
        httpCheckFrequency: '300ms',
        staticPodURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`,
        staticPodURLHeader: { 'X-Who': ['node-7'], Authorization: ['Bearer pull-me'] },
      },
      args: ['--manifest-server-address', `127.0.0.1:${serverPort}`, '--manifest-server-token-file', tokenFile],
    };
  },
});

const noticed = (what: RegExp) => (): Promise<boolean> =>
  fixture.agent.problems().then((problems) => problems.some((problem) => what.test(problem)));
const problemShown = async (what: RegExp): Promise<void> =>
  assert.ok(
    await waitUntil(noticed(what), 10_000, 20),
    `no problem matches ${what}: ${(await fixture.agent.problems()).join(' | ')}`,
  );

describe('folder', () => {
  test('a broken manifest is reported with file and line, and blocks no other', async () => {
    const { agent } = fixture;
    agent.writeRaw('a-broken.yaml', 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: [unclosed\n');
    agent.writeRaw(
      'b-wrong.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: wrong}\nspec:\n  containers:\n  - name: UPPER\n    image: x\n',
    );
    agent.writeRaw(
      'c-unknown.yaml',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'unknown' },
        spec: { containers: [{ name: 'a', image: 'x' }], conatiners: [] },
      }),
    );
    await agent.run(pod('beside'));
    await problemShown(/a-broken\.yaml:[45]:/);
    await problemShown(/b-wrong\.yaml:6:.*spec\.containers\[0\]\.name/);
    await problemShown(/c-unknown\.yaml:.*conatiners/);
    for (const name of ['a-broken', 'b-wrong', 'c-unknown']) agent.removeManifest(name);
    assert.ok(
      await waitUntil(async () => (await agent.problems()).length === 0, 5000, 20),
      'problems of files that are gone are still listed',
    );
  });

  test('the last good version runs on when a manifest becomes broken or too large, and the next good one takes over', async () => {
    const { agent } = fixture;
    const before = await agent.run(pod('durable'));
    agent.writeRaw('durable.yaml', '{{{{ not yaml');
    await problemShown(/durable\.yaml/);
    agent.writeRaw('durable.yaml', `# ${'x'.repeat(11 * 1024 * 1024)}\n`);
    await problemShown(/durable\.yaml.*10 ?MB|durable\.yaml.*large|durable\.yaml.*10485760/);
    assert.equal(containerId(agent.pod('durable')), containerId(before));
    assert.ok(isReady(agent.pod('durable')));
    agent.writeManifest('durable', pod('durable', {}, { labels: { version: '2' } }));
    await agent.waitFor(
      'durable',
      'the next version',
      (seen) => seen.metadata.labels?.['version'] === '2' && isReady(seen),
    );
  });

  test('a YAML bomb is refused quickly and the agent stays awake', async () => {
    const { agent } = fixture;
    const levels = Array.from(
      { length: 30 },
      (_, level) => `l${level}: &l${level} [${level === 0 ? 'x, x' : `*l${level - 1}, *l${level - 1}`}]`,
    );
    agent.writeRaw('bomb.yaml', `apiVersion: v1\nkind: Pod\n${levels.join('\n')}\n`);
    await problemShown(/bomb\.yaml/);
    const startMs = performance.now();
    await agent.run(pod('after-bomb'));
    assert.ok(performance.now() - startMs < 10_000);
    agent.removeManifest('bomb');
  });

  test('a half-written file becomes a pod when it is whole', async () => {
    const { agent } = fixture;
    const text = `${JSON.stringify(pod('half'), null, 2)}\n`;
    const path = join(agent.manifestsDir, 'half.yaml');
    writeFileSync(path, text.slice(0, text.length / 2));
    await problemShown(/half\.yaml/);
    writeFileSync(path, text);
    await agent.ready('half');
  });

  test('two files with one name: one of them runs, the other is reported, and it replaces the first when that is removed', async () => {
    const { agent } = fixture;
    agent.writeRaw('twin-1.yaml', JSON.stringify(pod('twin', {}, { labels: { file: '1' } })));
    await agent.ready('twin');
    agent.writeRaw('twin-2.yaml', JSON.stringify(pod('twin', {}, { labels: { file: '2' } })));
    assert.ok(
      await waitUntil(
        () =>
          /twin/.test(
            agent.log
              .split('\n')
              .filter((line) => /duplicate|FailedValidation|same name|already/i.test(line))
              .join('\n'),
          ),
        10_000,
        20,
      ),
      'the duplicate is not listed',
    );
    assert.equal(agent.pod('twin').metadata.labels?.['file'], '1');
    agent.removeManifest('twin-1');
    await agent.waitFor('twin', 'the other file', (seen) => seen.metadata.labels?.['file'] === '2' && isReady(seen));
    agent.removeManifest('twin-2');
    await agent.gone('twin');
  });

  test('dot-files, subfolders, dangling links and foreign files are no pods and no trouble', async () => {
    const { agent } = fixture;
    writeFileSync(join(agent.manifestsDir, '.hidden.yaml'), JSON.stringify(pod('hidden')));
    mkdirSync(join(agent.manifestsDir, 'sub'));
    writeFileSync(join(agent.manifestsDir, 'sub', 'deep.yaml'), JSON.stringify(pod('deep')));
    symlinkSync('/nowhere/at/all.yaml', join(agent.manifestsDir, 'dangling.yaml'));
    await agent.run(pod('among'));
    const names = (await agent.pods()).map((each) => each.metadata.name);
    assert.ok(!names.includes(podName('hidden')) && !names.includes(podName('deep')), names.join());
    for (const name of ['.hidden.yaml', 'sub', 'dangling.yaml'])
      rmSync(join(agent.manifestsDir, name), { recursive: true });
  });

  test('after many changes of a file its last version runs', async () => {
    const { agent } = fixture;
    for (let round = 0; round < 20; round++) {
      agent.writeManifest('restless', pod('restless', {}, { labels: { round: String(round) } }));
      if (round % 3 === 0) agent.removeManifest('restless');
    }
    await agent.waitFor(
      'restless',
      'the last version',
      (seen) => seen.metadata.labels?.['round'] === '19' && isReady(seen),
    );
    await agent.remove('restless');
  });

  test('several documents in one file are several pods, and one bad among them does not stop the others', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'many',
      pod('one'),
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bad' }, spec: {} },
      pod('two'),
    );
    await Promise.all([agent.ready('one'), agent.ready('two')]);
    await problemShown(/many\.yaml/);
    agent.removeManifest('many');
    await Promise.all([agent.gone('one'), agent.gone('two')]);
  });
});

describe('URL', () => {
  test('pods of the URL run, follow its changes, and outlive its failures', async () => {
    const { agent } = fixture;
    remote.body = JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [pod('from-url')] });
    const seen = await agent.ready('from-url');
    assert.equal(seen.metadata.annotations?.['kubernetes.io/config.source'], 'http');
    assert.deepEqual([remote.headers['x-who'], remote.headers['authorization']], ['node-7', 'Bearer pull-me']);
    for (const broken of [
      { status: 500, body: 'oops' },
      { status: 200, body: '{"kind": "PodList", "items": [' },
      { status: 200, body: '<html>' },
    ]) {
      Object.assign(remote, broken);
      const asked = remote.requests;
      assert.ok(await waitUntil(() => remote.requests >= asked + 2, 10_000));
      assert.ok(isReady(agent.pod('from-url')));
    }
    assert.equal(containerId(agent.pod('from-url')), containerId(seen));
    Object.assign(remote, { status: 200, body: JSON.stringify(pod('from-url-too')) });
    await Promise.all([agent.gone('from-url'), agent.ready('from-url-too')]);
    remote.body = JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] });
    await agent.gone('from-url-too');
  });
});

describe('manifest server', () => {
  const call = (method: string, path: string, body?: string, token: string | undefined = TOKEN): Promise<Response> =>
    fetch(`http://127.0.0.1:${serverPort}${path}`, {
      method,
      body,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });

  test('without the token nothing is accepted or shown', async () => {
    for (const token of ['', 'wrong']) {
      const answer = await call('PUT', '/manifests/x', JSON.stringify(pod('intruder')), token);
      assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
    }
    assert.equal((await fetch(`http://127.0.0.1:${serverPort}/manifests`)).status, 401);
  });

  test('a pod created by PUT runs, survives a restart of the agent, and ends on DELETE', async () => {
    const { agent } = fixture;
    assert.equal((await call('PUT', '/manifests/given', JSON.stringify(pod('given')))).status, 201);
    const seen = await agent.ready('given');
    await agent.restart('SIGKILL');
    // Its servers start concurrently: the one that the test waits for may be first.
    assert.ok(
      await waitUntil(
        () =>
          call('GET', '/manifests').then(
            ({ status }) => status === 200,
            () => false,
          ),
        5000,
      ),
    );
    assert.equal(containerId(await agent.ready('given')), containerId(seen));
    assert.equal((await call('DELETE', '/manifests/given')).status, 200);
    await agent.gone('given');
  });

  test('an invalid manifest is rejected with all errors, and changes nothing', async () => {
    const answer = await call(
      'PUT',
      '/manifests/bad',
      JSON.stringify(pod('bad', { containers: [container('main', { image: '' })] })),
    );
    assert.equal(answer.status, 422);
    assert.match(await answer.text(), /spec\.containers\[0\]\.image/);
    assert.equal((await call('GET', '/manifests/bad')).status, 404);
  });
});

test('healthz answers ok to all clients, and its port serves nothing else', async () => {
  const { agent } = fixture;
  const at = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${agent.healthzPort}${path}`);
  assert.deepEqual([(await at('/healthz')).status, await (await at('/healthz')).text()], [200, 'ok']);
  assert.equal((await at('/pods')).status, 404);
});
