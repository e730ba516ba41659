import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { configMaps } from '../api/client/resource-types.ts';
import type { WatchEvent } from '../api/client/api-client.ts';
import type { ConfigMap } from '../api/core/config-map.ts';
import { ApiStatusError, isApiError } from '../api/status/api-status-error.ts';
import type { StatusReason } from '../api/status/api-status-error.ts';
import { RecordingTracer } from '../base/testing/recording-tracer.ts';
import { HttpApiClient } from './http-api-client.ts';
import { HttpTransport } from './http-transport.ts';
import type { HttpTransportOptions } from './http-transport.ts';
import type { ClusterAccess } from './cluster-access.ts';

const key = { namespace: 'default', name: 'web' };
const web = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '7' },
};

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function clientOf(
  t: TestContext,
  answer: RequestListener,
  { access, ...options }: Partial<HttpTransportOptions> & { readonly access?: Partial<ClusterAccess> } = {},
): Promise<HttpApiClient> {
  const server = await serve(t, answer);
  const transport = new HttpTransport(
    { server, insecureSkipTlsVerify: false, namespace: 'default', ...access },
    { userAgent: 'test', ...options },
  );
  t.after(() => transport.close());
  return new HttpApiClient(transport);
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const reasonOf = (call: Promise<unknown>): Promise<StatusReason> =>
  call.then(
    () => assert.fail('it was answered'),
    (error: unknown) => (error instanceof ApiStatusError ? error.reason : Promise.reject(error as Error)),
  );

async function watchAll(
  client: HttpApiClient,
  signal = new AbortController().signal,
): Promise<WatchEvent<ConfigMap>[]> {
  const events: WatchEvent<ConfigMap>[] = [];
  for await (const event of client.watch(configMaps, '', { resourceVersion: '1', allowBookmarks: true }, signal))
    events.push(event);
  return events;
}

test('paths, queries, headers and bodies are those of the API', async (t) => {
  const seen: unknown[] = [];
  const client = await clientOf(
    t,
    (request, response) => {
      const { method, url, headers } = request;
      void textOf(request).then((text) => {
        seen.push([
          method,
          url,
          headers['content-type'],
          headers.authorization,
          text === '' ? undefined : JSON.parse(text),
        ]);
        response.end(JSON.stringify(web));
      });
    },
    { access: { token: 'secret' } },
  );
  await client.get(configMaps, key, { resourceVersion: '0' });
  await client.create(
    configMaps,
    { metadata: { name: '', generateName: 'a-', namespace: 'default', uid: '' } },
    { dryRun: true },
  );
  await client.patch(
    configMaps,
    key,
    { type: 'apply', body: { data: {} } },
    { fieldManager: 'me', force: true, subresource: 'status' },
  );
  await client.delete(configMaps, key, { gracePeriodSeconds: 0 });
  const path = '/api/v1/namespaces/default/configmaps';
  assert.deepEqual(seen, [
    ['GET', `${path}/web?resourceVersion=0`, undefined, 'Bearer secret', undefined],
    [
      'POST',
      `${path}?dryRun=All`,
      'application/json',
      'Bearer secret',
      { kind: 'ConfigMap', apiVersion: 'v1', metadata: { generateName: 'a-', namespace: 'default' } },
    ],
    [
      'PATCH',
      `${path}/web/status?fieldManager=me&force=true`,
      'application/apply-patch+yaml',
      'Bearer secret',
      { kind: 'ConfigMap', apiVersion: 'v1', data: {} },
    ],
    [
      'DELETE',
      `${path}/web`,
      'application/json',
      'Bearer secret',
      { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 },
    ],
  ]);
});

test('items of a list have their kind, and what the wire leaves out', async (t) => {
  const client = await clientOf(t, (_, response) =>
    response.end(
      JSON.stringify({
        kind: 'ConfigMapList',
        metadata: { resourceVersion: '9', continue: 'more' },
        items: [{ metadata: { name: 'a' } }],
      }),
    ),
  );
  const item = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: '', uid: '' } };
  assert.deepEqual(await client.list(configMaps, ''), { items: [item], resourceVersion: '9', continue: 'more' });
});

test('a refusal is the Status of the answer', async (t) => {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'configmaps "web" not found',
    reason: 'NotFound',
    details: { name: 'web', kind: 'configmaps' },
    code: 404,
  };
  const client = await clientOf(t, (_, response) => response.writeHead(404).end(JSON.stringify(status)));
  await assert.rejects(
    client.get(configMaps, key),
    (error) => isApiError(error, 'NotFound') && error.message === status.message && error.details?.name === 'web',
  );
});

const others: readonly [code: number, body: string, reason: StatusReason][] = [
  [401, 'Unauthorized', 'Unauthorized'],
  [429, '{"kind":"Sorry"}', 'TooManyRequests'],
  [502, '<html>', 'InternalError'],
  [503, 'null', 'ServiceUnavailable'],
];
for (const [code, body, reason] of others) {
  test(`an answer ${code} without a Status is judged by its code`, async (t) => {
    const client = await clientOf(t, (_, response) => response.writeHead(code).end(body));
    assert.equal(await reasonOf(client.get(configMaps, key)), reason);
    assert.equal(await reasonOf(watchAll(client)), reason);
  });
}

const broken: readonly [what: string, answer: RequestListener][] = [
  ['says what is no JSON', (_, response) => void response.end('{"kind":')],
  [
    'ends in the middle of its answer',
    (_, response) =>
      void response.writeHead(200, { 'content-length': '100' }).write('{"kind":', () => response.destroy()),
  ],
  ['hangs up', (request) => void request.destroy()],
  ['says nothing', () => undefined],
  ['falls silent in the middle of its answer', (_, response) => void response.write('{"kind":')],
];
for (const [what, answer] of broken) {
  test(`a server that ${what} is unavailable`, async (t) => {
    const client = await clientOf(t, answer, { requestLimitMs: 50 });
    assert.equal(await reasonOf(client.get(configMaps, key)), 'ServiceUnavailable');
  });
}

test('a server that is not there is unavailable', async () => {
  const transport = new HttpTransport(
    { server: 'http://127.0.0.1:1', insecureSkipTlsVerify: false, namespace: '' },
    { userAgent: 'test' },
  );
  assert.equal(await reasonOf(new HttpApiClient(transport).get(configMaps, key)), 'ServiceUnavailable');
});

test('events of a watch come as they are, however they are cut; half an event at the end is none', async (t) => {
  const letters = { ...web, data: { a: 'äöü€😀' } };
  const bookmark = {
    kind: 'ConfigMap',
    metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } },
  };
  const error = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
  const lines = [
    { type: 'ADDED', object: letters },
    { type: 'BOOKMARK', object: bookmark },
    { type: 'ERROR', object: error },
  ].map((event) => `${JSON.stringify(event)}\n`);
  const bytes = Buffer.from(`${lines.join('\n')}{"type":"ADDED","obj`);
  const client = await clientOf(t, (_, response) => {
    const write = (at: number): void =>
      void (at >= bytes.length ? response.end() : response.write(bytes.subarray(at, at + 7), () => write(at + 7)));
    write(0);
  });
  const [added, marked, ended, ...rest] = await watchAll(client);
  assert.deepEqual(
    [added, marked, rest],
    [{ type: 'ADDED', object: letters }, { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true }, []],
  );
  assert.ok(ended?.type === 'ERROR' && isApiError(ended.error, 'Expired'));
});

test('a watch asks for what its options say', async (t) => {
  let asked = '';
  const client = await clientOf(t, (request, response) => {
    asked = request.url ?? '';
    response.end();
  });
  await watchAll(client);
  assert.equal(asked, '/api/v1/configmaps?watch=true&resourceVersion=1&allowWatchBookmarks=true');
});

test('a watch on which nothing comes any more, or what is no event, is given up', async (t) => {
  const silent = await clientOf(t, (_, response) => void response.write('\n'), { watchIdleMs: 50 });
  assert.equal(await reasonOf(watchAll(silent)), 'ServiceUnavailable');
  const rubbish = await clientOf(t, (_, response) => void response.write('rubbish\n'));
  assert.equal(await reasonOf(watchAll(rubbish)), 'ServiceUnavailable');
});

test('a watch that is aborted ends without an error, before its answer and in the middle of it', async (t) => {
  const controller = new AbortController();
  const client = await clientOf(
    t,
    (_, response) => void response.write(`${JSON.stringify({ type: 'ADDED', object: web })}\n`),
  );
  const events: string[] = [];
  for await (const { type } of client.watch(configMaps, '', { resourceVersion: '1' }, controller.signal)) {
    events.push(type);
    controller.abort();
  }
  assert.deepEqual([events, await watchAll(client, controller.signal)], [['ADDED'], []]);
});

test('each attempt is a span that the server can continue, with the status of the answer', async (t) => {
  const seen: unknown[] = [];
  const tracer = new RecordingTracer();
  const client = await clientOf(
    t,
    (request, response) => {
      seen.push(request.headers['traceparent']);
      response.writeHead(seen.length === 1 ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(seen.length === 1 ? web : { kind: 'Status', code: 404, reason: 'NotFound' }));
    },
    { tracer },
  );
  await client.get(configMaps, key);
  await assert.rejects(client.get(configMaps, key));
  assert.deepEqual(seen, ['HTTP GET', 'HTTP GET']);
  const path = '/api/v1/namespaces/default/configmaps/web';
  assert.deepEqual(
    tracer.spans.map(({ name, kind, attributes, error, ended }) => [
      name,
      kind,
      new URL(String(attributes['url.full'])).pathname,
      attributes['http.response.status_code'],
      error,
      ended,
    ]),
    [
      ['HTTP GET', 'client', path, 200, undefined, true],
      ['HTTP GET', 'client', path, 404, '', true],
    ],
  );
});
