import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { createServer } from 'node:net';
import { connect } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { configMaps } from '../api/client/resource-types.ts';
import { isApiError } from '../api/status/api-status-error.ts';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { AccessSource, ClusterAccess } from './cluster-access.ts';
import { withClientCertificate, fixedAccess } from './cluster-access.ts';
import type { ClientCertificate, ClientCredentials } from './cluster-access.ts';
import { HttpApiClient } from './http-api-client.ts';
import { HttpTransport } from './http-transport.ts';
import type { HttpTransportOptions } from './http-transport.ts';
import { RequestBudget } from './request-budget.ts';
import { accessTo, certificates, deadWire, listen, serveTls } from './testing/test-server.ts';
import type { TestAnswer } from './testing/test-server.ts';

const key = { namespace: 'default', name: 'web' };
const web = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '7' },
};
const line = `${JSON.stringify({ type: 'ADDED', object: web })}\n`;
const never = new AbortController().signal;

/** Watches begin with one event and go on; all else is answered. */
const apiServer: TestAnswer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  if (request.url.includes('watch=true')) response.write(line);
  else response.end(JSON.stringify(web));
};

function transportOf(
  t: TestContext,
  access: ClusterAccess | AccessSource,
  options: Partial<HttpTransportOptions> = {},
): { transport: HttpTransport; client: HttpApiClient } {
  const transport = new HttpTransport(access, { userAgent: 'test', ...options });
  t.after(() => transport.close());
  return { transport, client: new HttpApiClient(transport) };
}

/** A watch that has begun. `ended` says how it came to its end. */
async function beginWatch(client: HttpApiClient, signal = never): Promise<{ readonly ended: Promise<string> }> {
  const events = client.watch(configMaps, '', { resourceVersion: '1' }, signal)[Symbol.asyncIterator]();
  await events.next();
  return {
    ended: events.next().then(
      ({ done }) => (done === true ? 'end' : 'event'),
      (error: unknown) => (isApiError(error, 'ServiceUnavailable') ? error.message : Promise.reject(error as Error)),
    ),
  };
}

const unavailable = (error: unknown): boolean => isApiError(error, 'ServiceUnavailable');

it('over HTTP/2 all watches and requests share one connection', async (t) => {
  const server = await serveTls(t, apiServer);
  const { client } = transportOf(t, server.access);
  await Promise.all(Array.from({ length: 50 }, () => beginWatch(client)));
  await Promise.all(Array.from({ length: 20 }, () => client.get(configMaps, key)));
  assert.deepEqual([server.sockets.length, server.sessions.length], [1, 1]);
});

it('a connection that is full is joined by another', async (t) => {
  const server = await serveTls(t, apiServer, { settings: { maxConcurrentStreams: 10 } });
  const { client } = transportOf(t, server.access);
  await client.get(configMaps, key);
  await Promise.all(Array.from({ length: 25 }, () => beginWatch(client)));
  assert.deepEqual([server.sessions.length, await client.get(configMaps, key)], [3, web]);
});

it('a server without HTTP/2 is spoken to as it can: each watch has a connection, requests share few', async (t) => {
  const server = await serveTls(t, apiServer, { h2: false });
  const { client } = transportOf(t, server.access, { maxSockets: 1 });
  await Promise.all(Array.from({ length: 5 }, () => beginWatch(client)));
  await Promise.all(Array.from({ length: 20 }, () => client.get(configMaps, key)));
  assert.deepEqual(
    [server.sockets.map(({ alpnProtocol }) => alpnProtocol), server.sessions.length],
    [new Array(6).fill('http/1.1'), 0],
  );
});

it('a server that says goodbye gets no new requests, and what it has begun goes on', async (t) => {
  const server = await serveTls(t, apiServer);
  const { client } = transportOf(t, server.access);
  const { ended } = await beginWatch(client);
  server.sessions[0]?.goaway();
  let others = 0;
  while (server.sessions.length < 2 && others++ < 50) await client.get(configMaps, key);
  assert.equal(server.sessions.length, 2);
  assert.equal(await Promise.race([ended, client.get(configMaps, key).then(() => 'goes on')]), 'goes on');
});

it('when the other end does not answer pings, everything on that connection fails at once and the next request dials again', async (t) => {
  const server = await serveTls(t, apiServer);
  const wire = await deadWire(t, server.port);
  const { client, transport } = transportOf(t, accessTo(wire.port), { readIdleMs: 200, pingTimeoutMs: 500 });
  const watches = await Promise.all([beginWatch(client), beginWatch(client), beginWatch(client)]);
  wire.kill();
  const get = client.get(configMaps, key);
  assert.deepEqual(
    (await Promise.all(watches.map(({ ended }) => ended))).map((said) => /has not answered a ping/.test(said)),
    [true, true, true],
  );
  // It may have been received, but it changes nothing: it was retried automatically.
  assert.deepEqual([await get, server.sessions.length, transport.problem()], [web, 2, undefined]);
});

it('a request that had no answer in time has the connection checked, however lately something came', async (t) => {
  const server = await serveTls(t, (request, response) =>
    request.method === 'GET' ? apiServer(request, response) : undefined,
  );
  const wire = await deadWire(t, server.port);
  const { client, transport } = transportOf(t, accessTo(wire.port), { pingTimeoutMs: 500 });
  const { ended } = await beginWatch(client);
  const write = (): Promise<unknown> => new HttpApiClient(transport.withTerms({ limitMs: 50 })).create(configMaps, web);
  // A server that is slow is not dead.
  const pinged = once(server.sessions[0] as ServerHttp2Session, 'ping');
  await assert.rejects(write(), unavailable);
  await pinged;
  assert.deepEqual([await client.get(configMaps, key), server.sessions.length], [web, 1]);
  wire.kill();
  await assert.rejects(write(), unavailable);
  assert.match(await ended, /has not answered a ping/);
});

it('pings that are answered keep a silent connection', async (t) => {
  const server = await serveTls(t, apiServer);
  const { client } = transportOf(t, server.access, { readIdleMs: 10, pingTimeoutMs: 5_000 });
  const { ended } = await beginWatch(client);
  let pings = 0;
  const five = new Promise<string>((resolve) =>
    server.sessions[0]?.on('ping', () => ++pings === 5 && resolve('alive')),
  );
  assert.equal(await Promise.race([ended, five]), 'alive');
});

it('a connection that was just destroyed is not pinged', async (t) => {
  const server = await serveTls(t, apiServer);
  const checks: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer: (delayMs, fire) => {
      if (delayMs === 0) checks.push(fire);
      return { cancel: () => undefined };
    },
  };
  const { client, transport } = transportOf(t, server.access, { clock, readIdleMs: 0 });
  const { ended } = await beginWatch(client);
  transport.close();
  await Promise.resolve();
  // The session emits its end in a later turn. A ping before that would throw outside of any request.
  checks.forEach((check) => check());
  assert.equal(checks.length, 1);
  await ended;
});

for (const h2 of [true, false]) {
  describe(h2 ? 'connections of HTTP/2' : 'connections of HTTP/1.1', () => {
    it('an answer, and a watch, that is cut in the middle is a failure', async (t) => {
      const cut: TestAnswer = ({ url, socket, stream }, response) => {
        response.writeHead(200);
        response.write(url.includes('watch=true') ? line : '{', () => {
          // What is on the way arrives first.
          setImmediate(() => (h2 ? stream.session?.socket.destroy() : (socket as Socket).destroy()));
        });
      };
      const server = await serveTls(t, cut, { h2 });
      const { client, transport } = transportOf(t, server.access);
      const { ended } = await beginWatch(client);
      assert.match(await ended, /GET https:/);
      await assert.rejects(client.get(configMaps, key), unavailable);
      assert.notEqual(transport.problem(), undefined);
    });

    it('a read on an old connection that was closed meanwhile is sent again at once, a write is not', async (t) => {
      const served = new Map<object, number>();
      const fickle: TestAnswer = (request, response) => {
        const socket = request.stream?.session?.socket ?? request.socket;
        const count = (served.get(socket) ?? 0) + 1;
        served.set(socket, count);
        if (count === 1) apiServer(request, response);
        else (socket as Socket).destroy();
      };
      const server = await serveTls(t, fickle, { h2 });
      const { client } = transportOf(t, server.access);
      for (let each = 0; each < 3; each += 1) assert.deepEqual(await client.get(configMaps, key), web);
      assert.equal(server.sockets.length, 3);
      await assert.rejects(client.create(configMaps, web), unavailable);
    });

    it('another client certificate means other connections: watches end, what is in flight finishes', async (t) => {
      const names: (string | undefined)[] = [];
      const arrived = Promise.withResolvers<() => void>();
      const server = await serveTls(
        t,
        (request, response) => {
          const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
          names.push(socket.getPeerCertificate().subject?.CN as string | undefined);
          if (request.method === 'POST') arrived.resolve(() => void response.end(JSON.stringify(web)));
          else apiServer(request, response);
        },
        { h2 },
      );
      const state: { own?: ClientCertificate; changed?: () => void } = {};
      const credentials: ClientCredentials = {
        current: () => state.own,
        onChange: (listener) => {
          state.changed = listener;
          return () => undefined;
        },
      };
      const { client } = transportOf(
        t,
        withClientCertificate(fixedAccess({ ...server.access, token: 'of the kubeconfig' }), credentials),
      );
      const { ended } = await beginWatch(client);
      const create = client.create(configMaps, web);
      const answer = await arrived.promise;
      state.own = { certificate: certificates.client.cert, key: certificates.client.key };
      state.changed?.();
      assert.match(await ended, /replaced by another/);
      await client.get(configMaps, key);
      answer();
      assert.deepEqual(
        [await create, names.at(-1), names.slice(0, -1).every((name) => name === undefined)],
        [web, 'jane', true],
      );
    });

    it('whose connections were closed dials again', async (t) => {
      const server = await serveTls(t, apiServer, { h2 });
      const { client, transport } = transportOf(t, server.access);
      await client.get(configMaps, key);
      transport.reconnect();
      await client.get(configMaps, key);
      assert.equal(server.sockets.length, 2);
    });

    it('a server is reached through the proxy of the kubeconfig', async (t) => {
      const server = await serveTls(t, apiServer, { h2 });
      const asked: unknown[] = [];
      const proxy = createHttpServer().on('connect', ({ url, headers }, near: Socket) => {
        asked.push([url, headers['proxy-authorization']]);
        const far = connect(server.port, '127.0.0.1', () => near.write('HTTP/1.1 200 OK\r\n\r\n'));
        far.pipe(near).pipe(far);
        for (const end of [near, far]) end.on('error', () => undefined);
      });
      const port = await listen(proxy);
      t.after(() => proxy.close());
      const { client } = transportOf(t, { ...server.access, proxyUrl: `http://ann:p%40w@127.0.0.1:${port}` });
      assert.deepEqual(await client.get(configMaps, key), web);
      assert.deepEqual(asked[0], [`127.0.0.1:${server.port}`, `Basic ${Buffer.from('ann:p@w').toString('base64')}`]);
    });
  });
}

it('the error of a refusing proxy is reported', async (t) => {
  const proxy = createHttpServer().on(
    'connect',
    (_request, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'),
  );
  const port = await listen(proxy);
  t.after(() => proxy.close());
  const { client } = transportOf(t, { ...accessTo(1), proxyUrl: `http://127.0.0.1:${port}` });
  await assert.rejects(client.get(configMaps, key), /the proxy 127.0.0.1:\d+ answered 403/);
});

it('a server that takes the connection and says nothing is given up when the time for dialling is over', async (t) => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  const port = await listen(mute);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
  const { client } = transportOf(t, accessTo(port), { dialLimitMs: 50 });
  await assert.rejects(
    client.get(configMaps, key),
    (error) => unavailable(error) && /no connection after 0.05 s/.test((error as Error).message),
  );
});

const unusable: readonly [what: string, change: Partial<ClusterAccess>, said: RegExp][] = [
  ['a server of an unknown authority', { ca: certificates.clientCa }, /self-signed|unable to verify/i],
  ['a server of another name', { tlsServerName: 'elsewhere' }, /elsewhere/],
  ['a key that is none', { certificate: certificates.client.cert, key: 'rubbish' }, /PEM|DECODER|asn1/i],
  [
    'a key of another certificate',
    { certificate: certificates.client.cert, key: certificates.stranger.key },
    /mismatch/i,
  ],
];
for (const [what, change, said] of unusable) {
  it(`${what} makes requests fail, and nothing else`, async (t) => {
    const server = await serveTls(t, apiServer);
    const { client } = transportOf(t, { ...server.access, ...change });
    for (let each = 0; each < 2; each += 1)
      await assert.rejects(
        client.get(configMaps, key),
        (error) => unavailable(error) && said.test((error as Error).message),
      );
  });
}

it('a client that was closed leaves no connection behind, and makes none', async (t) => {
  const server = await serveTls(t, apiServer);
  const { client, transport } = transportOf(t, server.access);
  await client.get(configMaps, key);
  const closed = once(server.sockets[0] as TLSSocket, 'close');
  transport.close();
  await closed;
  await assert.rejects(client.get(configMaps, key), unavailable);
  assert.equal(server.sockets.length, 1);
});

it('closing a client ends all waits: for a turn, for a connection, for a response', async (t) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  const port = await listen(silent);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const budget = new RequestBudget({ clock: new FakeClock(), qps: 1, burst: 1, waitingLimit: 10 });
  const access = accessTo(port);
  const changed: (() => void)[] = [];
  const source = {
    current: () => Promise.resolve(access),
    renew: () => Promise.resolve(access),
    onChange: (listener: () => void) => (changed.push(listener), () => undefined),
  };
  const transport = new HttpTransport(source, { userAgent: 'test' });
  const gate = budget.gate(0);
  const ends = ['dialling', 'waiting'].map((name) =>
    transport
      .withTerms({ gate })
      .send({ method: 'GET', path: `/${name}` })
      .then(
        () => 'answered',
        (error: unknown) => (error as Error).message,
      ),
  );
  await once(silent, 'connection');
  transport.close();
  assert.deepEqual(
    await Promise.all(ends),
    ['dialling', 'waiting'].map((name) => `GET https://127.0.0.1:${port}/${name}: the client was closed`),
  );
  // A listener that is notified of another access now has nothing to do.
  for (const listener of changed) listener();
  await new Promise((resolve) => setImmediate(resolve));
});
