import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bodyJson, bodyText, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { ApiServerOptions } from '../options.ts';

async function ask(path: string, options: Partial<ApiServerOptions> = {}, shutDown = false): Promise<string> {
  const { server } = fixture(options);
  if (shutDown) server.beginShutdown();
  const reply = await server.handle(fakeRequest('GET', path));
  return `${reply.status} ${bodyText(reply)}`;
}

describe('health', () => {
  const broken: Partial<ApiServerOptions> = {
    healthChecks: [
      { name: 'etcd', check: () => Promise.reject(new Error('secret address')) },
      { name: 'warm', endpoints: ['readyz'], check: () => Promise.resolve() },
    ],
  };

  it('returns ok, or the result of each check with verbose', async () => {
    assert.deepEqual(
      [await ask('/livez'), await ask('/healthz/ping'), await ask('/livez?verbose')],
      ['200 ok', '200 ok', '200 [+]ping ok\n[+]log ok\nlivez check passed\n'],
    );
  });

  it('names the failed check without the reason', async () => {
    assert.equal(
      await ask('/readyz', broken),
      '500 [+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n[+]warm ok\n[+]shutdown ok\nreadyz check failed\n',
    );
  });

  it('excludes the given checks, and reports unknown ones', async () => {
    assert.deepEqual(
      [await ask('/livez?exclude=etcd', broken), await ask('/livez?verbose&exclude=etcd&exclude=none', broken)],
      [
        '200 ok',
        '200 [+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "none"\nlivez check passed\n',
      ],
    );
  });

  it('fails only readyz once the server begins to stop', async () => {
    assert.deepEqual(
      [
        (await ask('/readyz', {}, true)).slice(0, 3),
        await ask('/livez', {}, true),
        await ask('/readyz/ping', {}, true),
      ],
      ['500', '200 ok', '200 ok'],
    );
  });

  it('does not run checks of other endpoints', async () => {
    assert.deepEqual(
      [await ask('/readyz/warm', broken), (await ask('/livez/warm', broken)).slice(0, 3)],
      ['200 ok', '404'],
    );
  });
});

describe('documents', () => {
  it('returns the version', async () => {
    const body = bodyJson(await fixture().server.handle(fakeRequest('GET', '/version')));
    assert.deepEqual(
      [body.major, body.minor, body.gitVersion, body.emulationMinor, body.minCompatibilityMinor],
      ['1', '36', 'v1.36.0', '36', '35'],
    );
  });

  it('lists the paths', async () => {
    const { paths } = bodyJson(
      await fixture({ documentPaths: () => ['/openapi/v2'] }).server.handle(fakeRequest('GET', '/')),
    ) as { paths: string[] };
    assert.deepEqual(
      ['/api/v1', '/apis/apps/v1', '/readyz/ping', '/openapi/v2', '/version'].filter((path) => !paths.includes(path)),
      [],
    );
  });

  it('serves generated documents, and answers 304 if the client already has one', async () => {
    const { server } = fixture({
      documents: ({ path, query }) =>
        Promise.resolve(
          path === '/openapi/v3'
            ? { contentType: 'application/json', body: `{"q":"${query.get('q')}"}`, etag: '"1"' }
            : undefined,
        ),
    });
    const first = await server.handle(fakeRequest('GET', '/openapi/v3?q=a'));
    const again = await server.handle(
      fakeRequest('GET', '/openapi/v3?q=a', { headers: { 'if-none-match': '"0", W/"1"' } }),
    );
    assert.deepEqual(
      [
        bodyText(first),
        headerOfReply(first, 'etag'),
        again.status,
        (await server.handle(fakeRequest('GET', '/openapi/v9'))).status,
      ],
      ['{"q":"a"}', '"1"', 304, 404],
    );
  });

  it('counts requests under upstream’s names, and not under names invented by clients', async () => {
    const processUsage = { cpuSeconds: 1.5, residentBytes: 1000, startTimeSeconds: 5 };
    const { server } = fixture({ countObjects: () => new Map([['pods', 3]]), processUsage: () => processUsage });
    for (const target of [
      '/api/v1/namespaces/default/pods',
      '/api/v1/inventions',
      '/api/v1/namespaces/default/pods?watch=1',
    ]) {
      const request = fakeRequest('GET', target);
      await server.handle(request);
      if (!target.includes('watch')) request.finish();
    }
    const text = bodyText(await server.handle(fakeRequest('GET', '/metrics')));
    for (const line of [
      'apiserver_request_total{verb="LIST",group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver",dry_run="",code="200"} 1',
      'apiserver_request_total{verb="LIST",group="",version="",resource="",subresource="",scope="",component="apiserver",dry_run="",code="404"} 1',
      'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver"} 1',
      'apiserver_storage_objects{resource="pods"} 3',
      'process_cpu_seconds_total 1.5',
      'process_resident_memory_bytes 1000',
      'apiserver_current_inflight_requests{request_kind="mutating"} 0',
    ])
      assert.ok(text.split('\n').includes(line), `${line} is missing`);
  });
});

describe('snapshot', () => {
  const asked: object[] = [];
  const source: Partial<ApiServerOptions> = {
    snapshot: (position) => {
      asked.push(position);
      return 'after' in position && position.after === 'gone'
        ? Promise.reject(new KubeletError('Conflict', 'compacted', { op: 'list' }))
        : Promise.resolve({ revision: 7, items: [] });
    },
  };

  it('returns a page at the requested position', async () => {
    assert.equal(await ask('/snapshot', source), '200 {"revision":7,"items":[]}');
    await ask('/snapshot?revision=7&after=%2Fregistry%2Fa%26b', source);
    assert.deepEqual(asked, [{}, { revision: 7, after: '/registry/a&b' }]);
  });

  it('rejects an invalid revision, and reports a compacted one', async () => {
    for (const revision of ['', '0', '-1', '1.5', '1e3', '07', '1'.repeat(16), 'x'])
      assert.equal((await ask(`/snapshot?revision=${revision}`, source)).slice(0, 3), '400', revision);
    assert.match(await ask('/snapshot?revision=7&after=gone', source), /^410 .*compacted/);
  });

  it('does not exist without a store', async () => {
    assert.equal((await ask('/snapshot')).slice(0, 3), '404');
  });
});
