import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { checkPlain, healthCheckBytes, HealthAnswerReader } from './net-dial-grpc-plain.ts';

test('a strict HTTP/2 server accepts the request, and the message is received', async () => {
  const server = http2.createServer();
  const seen: Record<string, unknown>[] = [];
  server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
    const {
      ':method': method,
      ':path': path,
      ':authority': authority,
      ':scheme': scheme,
      te,
      'user-agent': userAgent,
      'content-type': contentType,
    } = headers;
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      seen.push({
        method,
        path,
        authority,
        scheme,
        te,
        userAgent,
        contentType,
        body: Buffer.concat(chunks).toString('hex'),
      });
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const message = await checkPlain({
    host: '127.0.0.1',
    port,
    timeoutMs: 5_000,
    bytes: healthCheckBytes('10.0.0.1:80', Buffer.from([0x0a, 1, 0x78])),
  });
  server.close();
  assert.deepEqual(message, Buffer.from([8, 1]));
  assert.deepEqual(seen, [
    {
      method: 'POST',
      path: '/grpc.health.v1.Health/Check',
      authority: '10.0.0.1:80',
      scheme: 'http',
      te: 'trailers',
      userAgent: 'kube-probe/1.36',
      contentType: 'application/grpc',
      body: '00000000030a0178',
    },
  ]);
});

const frame = (type: number, flags: number, streamId: number, ...payload: number[]): number[] => [
  0,
  0,
  payload.length,
  type,
  flags,
  0,
  0,
  0,
  streamId,
  ...payload,
];

test('settings and pings are answered, and the message is assembled without padding, whatever the pieces', () => {
  const wire = Buffer.from([
    ...frame(4, 0, 0),
    ...frame(6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8),
    ...frame(1, 4, 1, 0x88),
    ...frame(0, 0, 1, 0, 0, 0),
    ...frame(0, 8, 1, 1, 0, 2, 8, 1, 99),
    ...frame(1, 5, 1),
  ]);
  for (let pieceBytes = 1; pieceBytes <= wire.length; pieceBytes++) {
    const reader = new HealthAnswerReader();
    let reply = Buffer.alloc(0);
    let message: Buffer | undefined;
    for (let at = 0; at < wire.length; at += pieceBytes) {
      const reading = reader.push(wire.subarray(at, at + pieceBytes));
      if (reading.kind === 'more' && reading.reply !== undefined) reply = Buffer.concat([reply, reading.reply]);
      if (reading.kind === 'message') message = reading.bytes;
    }
    assert.deepEqual(message, Buffer.from([8, 1]));
    if (pieceBytes < 20) assert.deepEqual([...reply], [...frame(4, 1, 0), ...frame(6, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8)]);
  }
});

test('an end without a message, a reset and invalid data are left to a full client', () => {
  const odd = (...bytes: number[]): string => new HealthAnswerReader().push(Buffer.from(bytes)).kind;
  assert.deepEqual(
    [
      odd(...frame(1, 5, 1)),
      odd(...frame(3, 0, 1, 0, 0, 0, 8)),
      odd(...frame(7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
      odd(...frame(0, 1, 1, 1, 0, 0, 0, 0)),
    ],
    ['odd', 'odd', 'odd', 'odd'],
  );
  const reader = new HealthAnswerReader();
  assert.equal(reader.push(Buffer.alloc(70_000, 0xff)).kind, 'odd');
});
