import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { after, before, test } from 'node:test';
import type { handleUnaryCall } from '@grpc/grpc-js';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { KubeletError } from '../../../base/errors.ts';
import type { HttpProbeRequest } from '../../ports/net-dial.ts';
import { netDial } from './net-dial.ts';
import { testTls } from '../testing/test-tls.ts';

const seen: http.IncomingMessage[] = [];

function handle(request: http.IncomingMessage, response: http.ServerResponse): void {
  seen.push(request);
  const url = new URL(request.url ?? '/', 'http://x');
  const port = (request.socket.localPort ?? 0).toString();
  if (url.pathname === '/status') response.writeHead(Number(url.search.slice(1))).end('the body');
  else if (url.pathname === '/big') response.end('x'.repeat(100_000));
  else if (url.pathname === '/never') return;
  else if (url.pathname === '/slow-body') response.write('some');
  else if (url.pathname === '/cut')
    response.writeHead(200, { 'content-length': '100' }).write('part', () => request.socket.destroy());
  else if (url.pathname === '/once') response.writeHead(302, { location: '/status?200' }).end();
  else if (url.pathname === '/loop') response.writeHead(302, { location: '/loop' }).end();
  else if (url.pathname === '/nowhere') response.writeHead(302).end();
  else if (url.pathname === '/away') response.writeHead(302, { location: 'http://example.test/x' }).end('bye');
  else if (url.pathname === '/other-name')
    response.writeHead(302, { location: `http://localhost:${port}/status?200` }).end();
  else response.end('ok');
}

const plain = http.createServer(handle);
const tls = https.createServer({ ...testTls }, handle);
const silent = net.createServer(() => undefined);
const rude = net.createServer((socket) => socket.end('not http at all\r\n\r\n'));
const ports = { plain: 0, tls: 0, silent: 0, rude: 0, closed: 0, grpc: 0 };
const health = new Server();

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as net.AddressInfo).port;
}

before(async () => {
  ports.plain = await listen(plain);
  ports.tls = await listen(tls);
  ports.silent = await listen(silent);
  ports.rude = await listen(rude);
  const passing = net.createServer();
  ports.closed = await listen(passing);
  await new Promise((resolve) => passing.close(resolve));
  const check: handleUnaryCall<Buffer, number> = (call, callback) => {
    const service = call.request.subarray(2).toString('utf8');
    if (service === 'hang') return;
    if (service === 'gone') return callback({ code: status.NOT_FOUND, details: 'unknown service' });
    callback(null, service === 'bad' ? 2 : service === 'zero' ? 0 : 1);
  };
  health.addService(
    {
      check: {
        path: '/grpc.health.v1.Health/Check',
        requestStream: false,
        responseStream: false,
        requestDeserialize: (bytes: Buffer) => bytes,
        requestSerialize: (bytes: Buffer) => bytes,
        responseSerialize: (value: number) => (value === 0 ? Buffer.alloc(0) : Buffer.from([8, value])),
        responseDeserialize: (bytes: Buffer) => bytes[1] ?? 0,
      },
    },
    { check },
  );
  ports.grpc = await new Promise<number>((resolve, reject) =>
    health.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
});

after(() => {
  for (const server of [plain, tls]) {
    server.closeAllConnections();
    server.close();
  }
  silent.close();
  rude.close();
  health.forceShutdown();
});

const request = (path: string, changes: Partial<HttpProbeRequest> = {}): HttpProbeRequest => ({
  scheme: 'http',
  host: '127.0.0.1',
  port: ports.plain,
  path,
  headers: [],
  timeoutMs: 2_000,
  ...changes,
});

async function failure(work: Promise<unknown>): Promise<[string, string]> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof KubeletError, String(error));
    return [error.kind, error.message.replaceAll(/:\d{4,5}/g, ':PORT')];
  }
  return assert.fail('it did not fail');
}

test('a response has its status and body, whatever the status', async () => {
  assert.deepEqual(await netDial.httpProbe(request('/status?503')), { kind: 'answer', status: 503, body: 'the body' });
});

test('a body is cut off at 10 KiB', async () => {
  const answer = await netDial.httpProbe(request('/big'));
  assert.equal(answer.body.length, 10 * 1024);
});

test('headers are sent as given, including Host, on a connection that is not kept', async () => {
  await netDial.httpProbe(
    request('/h?q=1', {
      headers: [
        { name: 'Host', value: 'my.site' },
        { name: 'X-A', value: '1' },
        { name: 'x-a', value: '2' },
      ],
    }),
  );
  const got = seen.at(-1);
  assert.deepEqual(
    [
      got?.url,
      got?.headers.host,
      got?.headers['x-a'],
      got?.headers.connection,
      got?.headers['user-agent'],
      got?.headers['accept-encoding'],
    ],
    ['/h?q=1', 'my.site', '1, 2', 'close', undefined, undefined],
  );
});

test('letters beyond Latin-1 in a header are not truncated to line breaks', async () => {
  let received = '';
  const server = net.createServer((socket) => {
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const port = await listen(server);
  // The lower bytes of U+010D and U+010A are CR and LF, and that of U+0120 is a space.
  const value = 'x\u010d\u010aX-Smuggled: 1\u010d\u010a\u010d\u010aDELETE\u0120/ HTTP/1.1';
  await netDial.httpProbe(
    request('/', {
      port,
      headers: [
        { name: 'X-A', value },
        { name: 'Host', value },
      ],
    }),
  );
  server.close();
  const utf8 = Buffer.from(value, 'utf8').toString('latin1');
  assert.deepEqual(received.split('\r\n'), [
    'GET / HTTP/1.1',
    `Host: ${utf8}`,
    `X-A: ${utf8}`,
    'Connection: close',
    '',
    '',
  ]);
});

test('a host or scheme hidden in the path is not connected to', async () => {
  for (const [path, expected] of [
    ['http://example.test:1/a?b', '/a?b'],
    ['//example.test/a', '/a'],
    ['a', '/a'],
    ['/a b#c', '/a%20b'],
    ['', '/'],
  ] as const) {
    await netDial.httpProbe(request(path));
    assert.equal(seen.at(-1)?.url, expected);
  }
});

test('a redirect on the same host is followed, one to another host is returned', async () => {
  assert.deepEqual(await netDial.httpProbe(request('/once')), { kind: 'answer', status: 200, body: 'the body' });
  assert.deepEqual(await netDial.httpProbe(request('/away')), {
    kind: 'redirect',
    location: 'http://example.test/x',
    body: 'bye',
  });
  assert.equal((await netDial.httpProbe(request('/other-name'))).kind, 'redirect');
});

test('endless redirects, and those without a target, fail', async () => {
  assert.deepEqual(await failure(netDial.httpProbe(request('/loop'))), [
    'Unavailable',
    'Get "http://127.0.0.1:PORT/loop": stopped after 10 redirects',
  ]);
  assert.deepEqual(await failure(netDial.httpProbe(request('/nowhere'))), [
    'Unavailable',
    'Get "http://127.0.0.1:PORT/nowhere": 302 response missing Location header',
  ]);
});

test('the deadline covers connecting, waiting and the body', async () => {
  assert.deepEqual(await failure(netDial.httpProbe(request('/never', { timeoutMs: 60 }))), [
    'Timeout',
    'Get "http://127.0.0.1:PORT/never": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  ]);
  assert.equal(
    (await failure(netDial.httpProbe(request('/', { timeoutMs: 60, scheme: 'https', port: ports.silent }))))[0],
    'Timeout',
  );
});

test('an incomplete body is marked in the response, over TLS too', async () => {
  for (const target of [{}, { scheme: 'https' as const, port: ports.tls }]) {
    const broken = async (path: string): Promise<unknown> => {
      const answer = await netDial.httpProbe(request(path, { timeoutMs: 400, ...target }));
      return answer.kind === 'answer' ? [answer.status, answer.broken] : answer;
    };
    assert.deepEqual(await broken('/slow-body'), [
      200,
      'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    ]);
    assert.deepEqual(await broken('/cut'), [200, 'unexpected EOF']);
  }
});

test('a request may be sent again', async () => {
  const again = request('/once');
  for (const round of [1, 2])
    assert.deepEqual(
      [round, await netDial.httpProbe(again)],
      [round, { kind: 'answer', status: 200, body: 'the body' }],
    );
});

test('a refused, cut or garbled connection is Unavailable with a well-known message', async () => {
  assert.deepEqual(await failure(netDial.httpProbe(request('/', { port: ports.closed }))), [
    'Unavailable',
    'Get "http://127.0.0.1:PORT/": dial tcp 127.0.0.1:PORT: connect: connection refused',
  ]);
  assert.match((await failure(netDial.httpProbe(request('/', { port: ports.rude }))))[1], /malformed HTTP response/);
  assert.equal(
    (await failure(netDial.httpProbe(request('/', { headers: [{ name: 'X', value: 'a\nb' }] }))))[0],
    'Unavailable',
  );
});

test('https does not verify the server; plain HTTP in return is reported as such', async () => {
  assert.equal((await netDial.httpProbe(request('/x', { scheme: 'https', port: ports.tls }))).kind, 'answer');
  assert.deepEqual(await failure(netDial.httpProbe(request('/x', { scheme: 'https' }))), [
    'Invalid',
    'Get "https://127.0.0.1:PORT/x": http: server gave HTTP response to HTTPS client',
  ]);
});

test('an unknown name is reported as such; a name and an address of the other family work', async () => {
  assert.match(
    (await failure(netDial.httpProbe(request('/', { host: 'nowhere.invalid' }))))[1],
    /^Get "http:\/\/nowhere\.invalid:PORT\/": dial tcp: lookup nowhere\.invalid: (no such host|Temporary failure in name resolution)$/,
  );
  assert.equal((await netDial.httpProbe(request('/', { host: 'localhost' }))).kind, 'answer');
  await assert.rejects(
    netDial.httpProbe(request('/', { host: '::1' })),
    /Get "http:\/\/\[::1\]:\d+\/": dial tcp \[::1\]:\d+: connect: /,
  );
});

test('an abort ends a probe at once', async () => {
  const controller = new AbortController();
  const work = failure(netDial.httpProbe(request('/never'), controller.signal));
  controller.abort();
  assert.equal((await work)[0], 'Aborted');
});

test('a TCP probe succeeds on an open port', async () => {
  await netDial.tcpProbe('127.0.0.1', ports.silent, 1_000);
  assert.deepEqual(await failure(netDial.tcpProbe('127.0.0.1', ports.closed, 1_000)), [
    'Unavailable',
    'dial tcp 127.0.0.1:PORT: connect: connection refused',
  ]);
});

test('a gRPC health check returns the serving status', async () => {
  assert.deepEqual(
    [
      await netDial.grpcProbe('127.0.0.1', ports.grpc, '', 2_000),
      await netDial.grpcProbe('127.0.0.1', ports.grpc, 'bad', 2_000),
      await netDial.grpcProbe('127.0.0.1', ports.grpc, 'zero', 2_000),
    ],
    ['SERVING', 'NOT_SERVING', 'UNKNOWN'],
  );
});

test('a gRPC health check fails by kind', async () => {
  assert.deepEqual(await failure(netDial.grpcProbe('127.0.0.1', ports.grpc, 'gone', 2_000)), [
    'Unavailable',
    'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
  ]);
  assert.deepEqual(await failure(netDial.grpcProbe('127.0.0.1', ports.grpc, 'hang', 100)), [
    'Timeout',
    'timeout: health rpc did not complete within 100ms',
  ]);
  assert.equal((await failure(netDial.grpcProbe('127.0.0.1', ports.closed, '', 2_000)))[0], 'Unavailable');
  assert.equal((await failure(netDial.grpcProbe('127.0.0.1', ports.rude, '', 2_000)))[0], 'Unavailable');
  const controller = new AbortController();
  const hanging = failure(netDial.grpcProbe('127.0.0.1', ports.grpc, 'hang', 10_000, controller.signal));
  controller.abort();
  assert.equal((await hanging)[0], 'Aborted');
});

test('fetch returns text within its limits and verifies TLS', async () => {
  const url = `http://127.0.0.1:${ports.plain}`;
  const limits = { timeoutMs: 2_000, limitBytes: 1_000 };
  assert.deepEqual(await netDial.fetch(`${url}/once`, [{ name: 'Authorization', value: 'secret' }], limits), {
    status: 200,
    body: 'the body',
  });
  assert.equal(seen.at(-1)?.headers.authorization, 'secret');
  assert.equal((await failure(netDial.fetch(`${url}/big`, [], limits)))[0], 'Invalid');
  assert.equal((await failure(netDial.fetch(`https://127.0.0.1:${ports.tls}/`, [], limits)))[0], 'Unavailable');
  assert.equal((await failure(netDial.fetch('no url', [], limits)))[0], 'Invalid');
});

test('fetch follows a redirect to another host without sending the secrets', async () => {
  await netDial.fetch(`http://127.0.0.1:${ports.plain}/other-name`, [{ name: 'Authorization', value: 'secret' }], {
    timeoutMs: 2_000,
    limitBytes: 1_000,
  });
  assert.deepEqual([seen.at(-1)?.url, seen.at(-1)?.headers.authorization], ['/status?200', undefined]);
});
