import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { createHealthApp } from './health-app.ts';
import { createReadOnlyApp } from './read-only-app.ts';
import type { LocalApiSources, PodChange } from './local-api.ts';
import { createLocalApi } from './local-api.ts';

const pod = (name: string): Pod => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [] },
  status: { phase: 'Running' },
});

function sources(extra: Partial<LocalApiSources> = {}): LocalApiSources {
  return {
    pods: () => [pod('a')],
    runningPods: () => [pod('r')],
    config: () => ({ kind: 'KubeletConfiguration' }),
    imageGc: () => Promise.reject(new KubeletError('Unavailable', 'the runtime is away')),
    eviction: () => Promise.reject(new KubeletError('Unavailable', 'nothing is measured')),
    explain: () => [],
    events: () => [],
    problems: () => [{ message: 'a.yaml:3: bad', blocking: true }],
    plan: async () => [{ pod: 'default/a', steps: ['create sandbox'], problems: [] }],
    containerLog: async () =>
      (async function* () {
        yield new TextEncoder().encode('line 1\n');
        yield new TextEncoder().encode('line 2\n');
      })(),
    exec: async (_target, request) => `http://127.0.0.1:1/exec?command=${request.command.join('+')}`,
    watch: () => () => {},
    checks: { ping: () => undefined, syncloop: () => undefined },
    ...extra,
  };
}

describe('local API', () => {
  it('serves pods, running pods and the configuration in upstream shapes', async () => {
    const app = createLocalApi(sources());
    const json = async (path: string): Promise<unknown> => (await app.request(path)).json();
    assert.deepEqual(await json('/pods'), { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [pod('a')] });
    assert.deepEqual(((await json('/runningpods/')) as { items: unknown[] }).items, [pod('r')]);
    assert.deepEqual(await json('/configz'), { kubeletconfig: { kind: 'KubeletConfiguration' } });
  });

  it('streams a log, and answers invalid queries with what is accepted', async () => {
    const app = createLocalApi(sources());
    assert.equal(await (await app.request('/containerLogs/default/a/web?tailLines=2')).text(), 'line 1\nline 2\n');
    const bad = await app.request('/containerLogs/default/a/web?tailLines=-1');
    assert.deepEqual([bad.status, await bad.text()], [400, 'tailLines: "-1" is not a whole number of at least 0\n']);
  });

  it('maps error kinds to status codes', async () => {
    const gone = sources({ containerLog: () => Promise.reject(new KubeletError('NotFound', 'pod "x" not found')) });
    const answer = await createLocalApi(gone).request('/containerLogs/default/x/web');
    assert.deepEqual([answer.status, await answer.text()], [404, 'pod "x" not found\n']);
  });

  it('rejects a manifest that is too large without reading all of it', async () => {
    const plan = (length: number) =>
      createLocalApi(sources()).request('/api/plan', {
        method: 'POST',
        body: 'x'.repeat(length),
        headers: { 'Content-Length': String(length) },
      });
    assert.equal((await plan(1000)).status, 200);
    const refused = await plan(10 * 1024 * 1024 + 1);
    assert.deepEqual([refused.status, await refused.text()], [400, 'the manifest is larger than 10 MB\n']);
  });

  it('rejects an exec without a command', async () => {
    const app = createLocalApi(sources());
    assert.equal((await app.request('/api/exec/default/a', { method: 'POST', body: 'no json' })).status, 400);
    const ask = (body: unknown) =>
      app.request('/api/exec/default/a/web', { method: 'POST', body: JSON.stringify(body) });
    assert.equal((await ask({ command: [] })).status, 400);
    assert.equal((await ask(null)).status, 400);
    assert.deepEqual(await (await ask({ command: ['ls', '-l'] })).json(), {
      url: 'http://127.0.0.1:1/exec?command=ls+-l',
    });
  });

  it('watches: every pod first, then each change, until the client disconnects', async () => {
    let notify: (change: PodChange) => void = () => {};
    let stopped = false;
    const app = createLocalApi(
      sources({
        watch: (onChange) => {
          notify = onChange;
          return () => (stopped = true);
        },
      }),
    );
    const answer = await app.request('/api/watch');
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const next = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
    assert.equal((JSON.parse(await next()) as PodChange).pod.metadata.name, 'a');
    notify({ type: 'DELETED', pod: pod('a') });
    assert.equal((JSON.parse(await next()) as PodChange).type, 'DELETED');
    await reader.cancel();
    assert.equal(stopped, true);
  });

  it('keeps only the newest change of each pod for a slow client', async () => {
    let notify: (change: PodChange) => void = () => {};
    const app = createLocalApi(sources({ watch: (onChange) => ((notify = onChange), () => {}) }));
    const reader = ((await app.request('/api/watch')).body as ReadableStream<Uint8Array>).getReader();
    await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 100; i++)
      notify({ type: 'MODIFIED', pod: { ...pod('a'), status: { phase: 'Pending', message: String(i) } } });
    notify({ type: 'DELETED', pod: pod('b') });
    let text = '';
    while (!text.includes('DELETED')) text += new TextDecoder().decode((await reader.read()).value);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PodChange);
    assert.deepEqual(
      lines.slice(-2).map((change) => change.pod.status?.message ?? change.type),
      ['99', 'DELETED'],
    );
    assert.ok(lines.length <= 4, `${lines.length} lines`);
    await reader.cancel();
  });
});

describe('health', () => {
  it('returns ok while every check passes, and otherwise the failed check', async () => {
    const ok = createHealthApp({ ping: () => undefined });
    assert.equal(await (await ok.request('/healthz')).text(), 'ok');
    const bad = createHealthApp({ ping: () => undefined, syncloop: () => 'stuck' });
    const answer = await bad.request('/healthz');
    assert.deepEqual(
      [answer.status, await answer.text()],
      [500, '[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n'],
    );
    assert.equal((await bad.request('/healthz/ping')).status, 200);
    assert.equal((await bad.request('/pods')).status, 404);
  });
});

describe('read-only server', () => {
  it('shows pods and health, and answers 405 where upstream has a debugging endpoint', async () => {
    const app = createReadOnlyApp({ pods: () => [pod('a')], checks: { ping: () => undefined } });
    const status = async (path: string): Promise<number> => (await app.request(path)).status;
    assert.deepEqual(await (await app.request('/pods')).json(), {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [pod('a')],
    });
    assert.deepEqual(
      [
        await status('/healthz'),
        await status('/exec/default/a/web'),
        await status('/runningpods/'),
        await status('/configz'),
      ],
      [200, 405, 405, 404],
    );
  });
});
