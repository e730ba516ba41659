import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { configMaps } from '../api/client/resource-types.ts';
import { ApiStatusError, isApiError } from '../api/status/api-status-error.ts';
import { systemClock } from '../base/clock.ts';
import type { ClientObservation } from '../api/client/client-observations.ts';
import type { AccessSource, ClusterAccess } from './cluster-access.ts';
import { HttpApiClient } from './http-api-client.ts';
import { HttpTransport } from './http-transport.ts';
import type { HttpTransportOptions } from './http-transport.ts';
import { RequestBudget } from './request-budget.ts';
import { afterAnswer, isSentAgain, parseRetryAfterMs } from './retry-rules.ts';
import { listen } from './testing/test-server.ts';

const key = { namespace: 'default', name: 'web' };
const web = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'web', namespace: 'default', uid: 'u' } };

interface Fixture {
  readonly client: HttpApiClient;
  readonly transport: HttpTransport;
  /** `METHOD path` of what came. */
  readonly asked: string[];
}

async function groundOf(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
  {
    source,
    ...options
  }: Partial<HttpTransportOptions> & { readonly source?: (access: ClusterAccess) => AccessSource } = {},
): Promise<Fixture> {
  const asked: string[] = [];
  const serve: RequestListener = (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response, asked.length);
  };
  const server = createServer(serve);
  const port = await listen(server);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const access = {
    server: `http://127.0.0.1:${port}`,
    insecureSkipTlsVerify: false,
    namespace: 'default',
    token: 'one',
  };
  const transport = new HttpTransport(source === undefined ? access : source(access), {
    userAgent: 'test',
    ...options,
  });
  t.after(() => transport.close());
  return { client: new HttpApiClient(transport), transport, asked };
}

const busy =
  (code: number, seconds: number | string): ((response: ServerResponse) => void) =>
  (response) =>
    void response.writeHead(code, { 'retry-after': String(seconds) }).end('later');
const found = (response: ServerResponse): void => void response.end(JSON.stringify(web));
const drain = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
};

test('who is asked to come again does, reading and writing', async (t) => {
  const { client, asked } = await groundOf(t, (_, response, count) =>
    (count % 3 === 0 ? found : busy(count % 2 === 0 ? 429 : 503, 0))(response),
  );
  await client.get(configMaps, key);
  await client.create(configMaps, web);
  assert.equal(asked.length, 6);
});

test('an error without that word is an answer, and so is the eleventh with it', async (t) => {
  const plain = await groundOf(t, (_, response) => void response.writeHead(500).end());
  await assert.rejects(plain.client.get(configMaps, key), (error) => isApiError(error, 'InternalError'));
  const busyFor = await groundOf(t, (_, response) => busy(429, 0)(response));
  await assert.rejects(busyFor.client.get(configMaps, key), (error) => isApiError(error, 'TooManyRequests'));
  assert.deepEqual([plain.asked.length, busyFor.asked.length], [1, 11]);
});

test('a Retry-After beyond the time limit fails at once, with the time', async (t) => {
  const { client, asked } = await groundOf(t, (_, response) => busy(503, 3600)(response));
  await assert.rejects(
    client.get(configMaps, key),
    (error) => error instanceof ApiStatusError && error.details?.retryAfterSeconds === 3600,
  );
  await assert.rejects(
    drain(client.watch(configMaps, '', {}, new AbortController().signal)),
    (error) => error instanceof ApiStatusError && error.details?.retryAfterSeconds === 3600,
  );
  assert.equal(asked.length, 2);
});

test('401 is asked again with other credentials, once, by requests and watches; with the same ones it is not', async (t) => {
  let token = 'one';
  const renewed: string[] = [];
  const source = (access: ClusterAccess): AccessSource => ({
    current: () => Promise.resolve(access),
    renew: (refused) => {
      renewed.push(refused.token ?? '');
      return Promise.resolve(token === refused.token ? refused : { ...access, token });
    },
    onChange: () => () => undefined,
  });
  const { client, asked } = await groundOf(
    t,
    (request, response) =>
      request.headers.authorization === 'Bearer two' ? found(response) : void response.writeHead(401).end(),
    { source },
  );
  await assert.rejects(client.get(configMaps, key), (error) => isApiError(error, 'Unauthorized'));
  assert.equal(asked.length, 1);
  token = 'two';
  await client.get(configMaps, key);
  token = 'three';
  await assert.rejects(client.get(configMaps, key), (error) => isApiError(error, 'Unauthorized'));
  await assert.rejects(drain(client.watch(configMaps, '', {}, new AbortController().signal)), (error) =>
    isApiError(error, 'Unauthorized'),
  );
  assert.deepEqual([asked.length, renewed], [7, ['one', 'one', 'one', 'one']]);
});

test('credentials that cannot be used make requests fail; the next one looks again', async (t) => {
  let usable = false;
  const source = (access: ClusterAccess): AccessSource => ({
    current: () => (usable ? Promise.resolve(access) : Promise.reject(new Error('no such file'))),
    renew: () => Promise.resolve(access),
    onChange: () => () => undefined,
  });
  const { client, transport } = await groundOf(t, (_, response) => found(response), { source });
  await assert.rejects(
    client.get(configMaps, key),
    (error) => isApiError(error, 'ServiceUnavailable') && error.message.endsWith('no such file'),
  );
  assert.equal(transport.problem()?.message, 'no such file');
  usable = true;
  assert.deepEqual([await client.get(configMaps, key), transport.problem()], [web, undefined]);
});

test('listeners are notified of the end of an outage, not of a hiccup', async (t) => {
  let away = true;
  for (const [outageMs, reported] of [
    [0, 1],
    [60_000, 0],
  ] as const) {
    const { client, transport } = await groundOf(
      t,
      (request, response) => (away ? void request.destroy() : found(response)),
      { outageMs },
    );
    let returns = 0;
    const end = client.onReturn(() => returns++);
    for (const isAway of [true, true, false, false]) {
      away = isAway;
      await client.get(configMaps, key).catch(() => undefined);
    }
    end();
    assert.deepEqual([returns, transport.problem()], [reported, undefined]);
  }
});

test('a new or changed access counts as a return: waiting requests are sent at once', async (t) => {
  let usable = false;
  let changed = (): void => undefined;
  const source = (access: ClusterAccess): AccessSource => ({
    current: () => (usable ? Promise.resolve(access) : Promise.reject(new Error('not joined'))),
    renew: () => Promise.resolve(access),
    onChange: (listener) => {
      changed = listener;
      return () => undefined;
    },
  });
  const { client } = await groundOf(t, (_, response) => found(response), { source });
  await assert.rejects(client.get(configMaps, key));
  const reported = new Promise<string>((resolve) => client.onReturn(resolve));
  changed();
  usable = true;
  changed();
  assert.equal(await reported, 'admitted');
});

test('listeners are notified when refusals of all requests end, not of single refusals', async (t) => {
  for (const code of [401, 403, 500, 503]) {
    const codes = [code, code, 200, code, 200, 200];
    const { client } = await groundOf(
      t,
      (_, response) => (codes[0] === 200 ? found(response) : void response.writeHead(codes[0] ?? 0).end()),
      { outageMs: 0 },
    );
    const returns: number[] = [];
    client.onReturn(() => returns.push(codes.length));
    for (; codes.length > 0; codes.shift()) await client.get(configMaps, key).catch(() => undefined);
    assert.deepEqual(returns, [4, 2], String(code));
  }
});

test('redirects are not followed', async (t) => {
  const { client, asked } = await groundOf(
    t,
    (_, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  );
  await assert.rejects(client.get(configMaps, key), ApiStatusError);
  await assert.rejects(drain(client.watch(configMaps, '', {}, new AbortController().signal)), ApiStatusError);
  assert.equal(
    asked.some((each) => each.includes('elsewhere')),
    false,
  );
});

test('no answer, and no line of a watch, grows without bound', async (t) => {
  const endless = (_: IncomingMessage, response: ServerResponse): void => void response.write('x'.repeat(1_000_000));
  const { client } = await groundOf(t, endless, { maxBodyBytes: 100_000, maxLineBytes: 50_000 });
  await assert.rejects(client.get(configMaps, key), /an answer of more than 100000 bytes/);
  await assert.rejects(
    drain(client.watch(configMaps, '', {}, new AbortController().signal)),
    /a line of more than 50000 bytes/,
  );
});

test('a watch that does not begin is given up like any request', async (t) => {
  const { client } = await groundOf(t, () => undefined, { requestLimitMs: 30 });
  await assert.rejects(drain(client.watch(configMaps, '', {}, new AbortController().signal)), (error) =>
    isApiError(error, 'ServiceUnavailable'),
  );
});

test('each group of requests has terms of its own: a limit, a place to wait; retries wait there, too, and a watch only when it begins', async (t) => {
  const { transport, asked } = await groundOf(t, (request, response, count) => {
    if (request.url?.includes('watch') === true)
      response.end(`${JSON.stringify({ type: 'ADDED', object: web })}\n`.repeat(5));
    else if (count === 1) busy(429, 0)(response);
    else if (count === 2) found(response);
  });
  let admitted = 0;
  const budget = new RequestBudget({ clock: systemClock, qps: 1000, burst: 100, waitingLimit: 10 });
  const gate = { admit: (signal?: AbortSignal) => (admitted++, budget.gate(0).admit(signal)) };
  await new HttpApiClient(transport.withTerms({ gate })).get(configMaps, key);
  assert.equal(admitted, 2);
  await assert.rejects(new HttpApiClient(transport.withTerms({ limitMs: 20 })).get(configMaps, key), (error) =>
    isApiError(error, 'ServiceUnavailable'),
  );
  await drain(new HttpApiClient(transport.withTerms({ gate })).watch(configMaps, '', {}, new AbortController().signal));
  assert.deepEqual([admitted, asked.length], [3, 4]);
});

test('what is done can be observed: turns, attempts with their codes and sizes, and which were retries', async (t) => {
  const { client, transport } = await groundOf(t, (_, response, count) =>
    count === 1 ? busy(429, 0)(response) : found(response),
  );
  const seen: ClientObservation[] = [];
  const end = transport.observe((each) => seen.push(each));
  await client.create(configMaps, web);
  end();
  await client.get(configMaps, key);
  const attempts = seen.flatMap((each) =>
    each.kind === 'attempt' ? [[each.method, each.code, each.isRetry, each.responseBytes, each.requestBytes > 50]] : [],
  );
  assert.deepEqual(
    [seen.map(({ kind }) => kind), attempts],
    [
      ['admitted', 'attempt', 'admitted', 'attempt'],
      [
        ['POST', '429', false, 5, true],
        ['POST', '200', true, JSON.stringify(web).length, true],
      ],
    ],
  );
});

test('the rules of asking again', () => {
  const first = { retries: 0, signedInAgain: false };
  assert.deepEqual(afterAnswer(401, undefined, first), { kind: 'sign-in' });
  assert.deepEqual(afterAnswer(401, undefined, { ...first, signedInAgain: true }), { kind: 'done' });
  assert.deepEqual(afterAnswer(404, 1000, first), { kind: 'done' });
  assert.deepEqual(afterAnswer(504, 1000, { ...first, retries: 9 }), { kind: 'again', waitMs: 1000 });
  assert.deepEqual(afterAnswer(504, 1000, { ...first, retries: 10 }), { kind: 'done' });
  assert.deepEqual(['5', ' 0', '-1', '1e3', 'Wed, 21 Oct 2026 07:28:00 GMT', undefined].map(parseRetryAfterMs), [
    5000,
    0,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(
    [
      isSentAgain('POST', { unsent: true, reused: true }),
      isSentAgain('POST', { unsent: false, reused: true }),
      isSentAgain('GET', { unsent: false, reused: false }),
    ],
    [true, false, false],
  );
});

test('impersonation is sent in headers', async (t) => {
  let headers: IncomingMessage['headers'] = {};
  const source = (access: ClusterAccess): AccessSource => {
    const acting = {
      ...access,
      impersonate: { user: 'ann', uid: '7', groups: ['a', 'b'], extra: { 'Example.com/Why': ['x'] } },
    };
    return {
      current: () => Promise.resolve(acting),
      renew: () => Promise.resolve(acting),
      onChange: () => () => undefined,
    };
  };
  const { client } = await groundOf(
    t,
    (request, response) => {
      headers = request.headers;
      found(response);
    },
    { source },
  );
  await client.get(configMaps, key);
  const {
    'impersonate-user': user,
    'impersonate-uid': uid,
    'impersonate-group': groups,
    'impersonate-extra-example.com%2fwhy': extra,
  } = headers;
  assert.deepEqual([user, uid, groups, extra], ['ann', '7', 'a, b', 'x']);
});
