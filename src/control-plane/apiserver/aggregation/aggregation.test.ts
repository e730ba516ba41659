import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { systemClock } from '../../../base/clock.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { ApiBackend, ApiBackends } from '../../model/api-backends.ts';
import { bodyText, fakeRequest } from '../testing/fake-request.ts';
import { FakeStream } from '../testing/fake-stream.ts';
import { fixture, tokenIsName } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';
import type { FakeRequestOptions } from '../testing/fake-request.ts';
import type { Reply } from '../http/reply.ts';
import { askBackend } from './ask-backend.ts';
import { backendApis } from './backend-apis.ts';

const backend: ApiBackend = {
  name: 'v1.example.com',
  group: 'example.com',
  version: 'v1',
  service: { namespace: 'apis', name: 'api', port: 443 },
  insecureSkipTLSVerify: false,
  groupPriority: 2000,
  versionPriority: 10,
  isAvailable: true,
  resources: [
    { name: 'things', singularName: 'thing', namespaced: true, kind: 'Thing', verbs: ['get'], shortNames: ['th'] },
    { name: 'things/status', singularName: '', namespaced: true, kind: 'Thing', verbs: ['get'] },
  ],
};
const backendsOf = (all: readonly ApiBackend[]): ApiBackends => ({
  all,
  generation: all.length,
  find: (group, version) => all.find((each) => each.group === group && each.version === version),
  onChange: () => () => undefined,
});

describe('an API of another server', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  let port = 0;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const parts = (known: ApiBackend = backend) => ({
    backends: backendsOf([known]),
    dialer: () =>
      new Promise<ReturnType<typeof connect>>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject);
      }),
    resolve: () => ({ host: '127.0.0.1', port }),
    serverId: 'server-1',
  });
  const served = (known?: ApiBackend): Fixture =>
    fixture({ aggregation: parts(known), authenticators: [tokenIsName], clock: systemClock });
  const things = '/apis/example.com/v1/namespaces/default/things';

  async function ask(
    { server: api }: Fixture,
    target: string,
    { method = 'GET', ...options }: FakeRequestOptions & { method?: string } = {},
  ): Promise<{ status: number; text: string; reply: Reply }> {
    const request = fakeRequest(method, target, options);
    const reply = await api.handle(request);
    if (reply.kind !== 'stream') return { status: reply.status, text: bodyText(reply), reply };
    const stream = new FakeStream();
    const closed = new Promise<void>((resolve) => stream.onClose(resolve));
    reply.start(stream);
    await closed;
    request.finish();
    return { status: reply.status, text: stream.text, reply };
  }

  it('is answered by that server, which gets the user only from this server', async () => {
    const heard: IncomingMessage[] = [];
    answer = (request, response) => {
      heard.push(request);
      response.end(`${request.method} ${request.url}`);
    };
    const { text } = await ask(served(), `${things}?limit=1`, {
      headers: {
        authorization: 'Bearer jane/dev, ops',
        'x-remote-user': 'admin',
        'x-remote-group': 'system:masters',
        'x-remote-extra-scopes': 'all',
        'impersonate-nothing': 'x',
        accept: 'application/json',
      },
    });
    const { headersDistinct } = heard[0] ?? assert.fail();
    assert.equal(text, `GET ${things}?limit=1`);
    assert.deepEqual(
      ['x-remote-user', 'x-remote-group', 'x-remote-extra-scopes', 'authorization', 'via', 'accept'].map(
        (name) => headersDistinct[name],
      ),
      [
        ['jane'],
        ['dev', ' ops', 'system:authenticated'].map((each) => each.trim()),
        undefined,
        undefined,
        ['1.1 server-1'],
        ['application/json'],
      ],
    );
  });

  it('handles bodies and discovery, while all other requests are answered here', async () => {
    answer = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => response.writeHead(201).end(`${request.url} ${body}`));
    };
    const each = served();
    const made = await ask(each, things, { method: 'POST', body: '{"a":1}' });
    assert.deepEqual([made.status, made.text], [201, `${things} {"a":1}`]);
    assert.equal((await ask(each, '/apis/example.com/v1')).text, '/apis/example.com/v1 ');
    assert.equal((await ask(each, '/openapi/v3/apis/example.com/v1')).text, '/openapi/v3/apis/example.com/v1 ');
    const group = JSON.parse((await ask(each, '/apis/example.com')).text) as { preferredVersion: object };
    assert.deepEqual(group.preferredVersion, { groupVersion: 'example.com/v1', version: 'v1' });
    assert.equal((await ask(each, '/apis/other.com/v1/things')).status, 404);
  });

  it('appears in aggregated discovery as that server described it, marked stale when it is gone', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const shown = async (known: ApiBackend): Promise<unknown> => {
      const { text } = await ask(served(known), '/apis', { headers: { accept } });
      const { items } = JSON.parse(text) as { items: { metadata: { name: string }; versions: unknown[] }[] };
      return items.find(({ metadata }) => metadata.name === 'example.com')?.versions[0];
    };
    const kind = { group: '', version: '', kind: 'Thing' };
    const current = {
      version: 'v1',
      freshness: 'Current',
      resources: [
        {
          resource: 'things',
          responseKind: kind,
          scope: 'Namespaced',
          singularResource: 'thing',
          verbs: ['get'],
          shortNames: ['th'],
          subresources: [{ subresource: 'status', responseKind: kind, verbs: ['get'] }],
        },
      ],
    };
    assert.deepEqual(await shown(backend), current);
    assert.deepEqual(await shown({ ...backend, isAvailable: false }), { ...current, freshness: 'Stale' });
  });

  it('is refused with 503 when it is unavailable, does not exist, or points back here', async () => {
    answer = () => assert.fail('asked');
    const gone = await ask(served({ ...backend, isAvailable: false }), things);
    const nowhere = fixture({ aggregation: { ...parts(), resolve: () => 'no endpoints' }, clock: systemClock });
    const looped = await ask(served(), things, { headers: { via: '1.1 other, 1.1 server-1' } });
    assert.deepEqual(
      [gone, await ask(nowhere, things), looped].map(({ status, text }) => [status, text]),
      [
        [503, 'service unavailable\n'],
        [503, 'service unavailable\n'],
        [503, 'service unavailable: the request has come through this server already\n'],
      ],
    );
    const broken = fixture({
      aggregation: { ...parts(), dialer: () => Promise.reject(new Error('dial tcp 10.0.0.1:443: i/o timeout')) },
      clock: systemClock,
    });
    const unreachable = await ask(broken, things);
    assert.deepEqual(
      [unreachable.status, unreachable.text],
      [503, 'error trying to reach service: dial tcp 10.0.0.1:443: i/o timeout\n'],
    );
  });

  it('does not redirect clients, and also requires rights on this server', async () => {
    answer = (_, response) => response.writeHead(302, { location: 'https://evil.example' }).end();
    const moved = await ask(served(), things);
    assert.deepEqual(
      [moved.status, moved.text],
      [502, 'the backend attempted to redirect this request, which is not permitted'],
    );
    answer = () => assert.fail('asked');
    assert.equal((await ask(served(), things, { headers: { authorization: 'Bearer nobody' } })).status, 403);
  });

  it('has its discovery aborted when it takes too long', async () => {
    const clock = new FakeClock();
    const slow = fixture({ aggregation: parts(), authenticators: [tokenIsName], clock });
    const begun = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{');
        resolve();
      };
    });
    const request = fakeRequest('GET', '/apis/example.com/v1', { headers: { authorization: 'Bearer jane' } });
    const reply = await slow.server.handle(request);
    await begun;
    assert.ok(reply.kind === 'stream');
    const stream = new FakeStream();
    const closed = new Promise<void>((resolve) => stream.onClose(resolve));
    reply.start(stream);
    await clock.advance(5000);
    await closed;
    request.finish();
  });

  it('is given up when its answer is endless or missing', async () => {
    const clock = new FakeClock();
    const asked = askBackend({ ...parts(), clock }, backend, '/apis');
    const failed = assert.rejects(asked, /failing or missing response from https:.*: context deadline exceeded/);
    await new Promise<void>((resolve) => (answer = () => resolve()));
    await clock.advance(5000);
    await failed;
    answer = (_, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    };
    await assert.rejects(
      askBackend({ ...parts(), clock }, backend, '/apis'),
      /the answer is larger than 4194304 bytes/,
    );
    answer = (_, response) => response.writeHead(500).end();
    await assert.rejects(askBackend({ ...parts(), clock }, backend, '/apis'), /bad status from .*: 500/);
  });

  it('is called for clients in this process with their user, and returns its own errors', async () => {
    const user = { name: 'system:serviceaccount:kube-system:reader', groups: ['system:serviceaccounts'] };
    const apisOf = (known: ApiBackend) =>
      backendApis({ ...parts(known), clock: systemClock, backends: backendsOf([known]) }, user);
    const apis = apisOf(backend);
    assert.equal(apis.versionOf('example.com', ['v2', 'v1']), 'v1');
    assert.equal(apis.versionOf('other.example.com', ['v1']), undefined);
    answer = ({ headers, url }, response) =>
      response.end(JSON.stringify([url, headers['x-remote-user'], headers['x-remote-group']]));
    const asked = { group: 'example.com', version: 'v1' };
    assert.deepEqual(await apis.get(asked, things), [things, user.name, user.groups[0]]);
    const refusals: readonly [number, string, RegExp][] = [
      [404, '{"kind":"Status","message":"no such thing"}', /^no such thing$/],
      [500, 'oops', /bad status from .*: 500/],
      [200, 'no JSON', /JSON/],
    ];
    for (const [code, body, message] of refusals) {
      answer = (_, response) => response.writeHead(code).end(body);
      await assert.rejects(apis.get(asked, things), { message });
    }
    await assert.rejects(apis.get({ ...asked, version: 'v2' }, things), { message: /could not find/ });
    await assert.rejects(apisOf({ ...backend, isAvailable: false }).get(asked, things), {
      message: 'the server is currently unable to handle the request',
    });
  });

  it('says that an object does not exist only if it names that object', async () => {
    const apis = backendApis({ ...parts(), clock: systemClock }, { name: 'gc', groups: [] });
    const asked = { group: 'example.com', version: 'v1' };
    const isNotFound = async (status: object): Promise<boolean> => {
      answer = (_, response) => response.writeHead(404).end(JSON.stringify(status));
      const error = await apis.get(asked, `${things}/a`).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof Error);
      return isApiError(error, 'NotFound');
    };
    const missing = { kind: 'Status', reason: 'NotFound', message: 'things "a" not found' };
    assert.equal(await isNotFound({ ...missing, details: { name: 'a', kind: 'things' } }), true);
    // An unknown path, or a page of something else.
    for (const other of [missing, { ...missing, details: {} }, { ...missing, details: { name: 1 } }, {}])
      assert.equal(await isNotFound(other), false);
  });

  it('the resource of a kind of another server is known while that server is away', () => {
    const backends = backendsOf([
      { ...backend, version: 'v0', versionPriority: 5 },
      { ...backend, isAvailable: false },
    ]);
    const apis = backendApis({ ...parts(), backends, clock: systemClock }, { name: 'gc', groups: [] });
    const thing = { group: 'example.com', version: 'v1', plural: 'things', verbs: ['get'], namespaced: true };
    assert.deepEqual(apis.find('example.com', 'Thing'), thing);
    assert.equal(apis.find('example.com', 'Other'), undefined);
    assert.equal(apis.find('other.com', 'Thing'), undefined);
  });
});
