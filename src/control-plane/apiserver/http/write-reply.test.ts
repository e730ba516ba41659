import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fakeRequest } from '../testing/fake-request.ts';
import type { NodeResponse } from './node-request.ts';
import { writeBody, writeRaw } from './write-reply.ts';

test('the response to a rejected upgrade has only the given headers, and no value can inject a line', () => {
  const socket = new PassThrough();
  writeRaw(
    socket,
    {
      kind: 'body',
      status: 400,
      headers: { 'x-a': 'a\r\nx-b: c', 'x-c': 'a\u010d\u010ax-d: e\u0000', 'x-e': '\u00fc\tf' },
      body: 'no',
    },
    'Bad Request',
  );
  const [head = ''] = (socket.read() as Buffer).toString('latin1').split('\r\n\r\n');
  assert.deepEqual(head.split('\r\n'), [
    'HTTP/1.1 400 Bad Request',
    'x-a: a  x-b: c',
    'x-c: a  x-d: e ',
    'x-e: \u00fc\tf',
    'content-length: 2',
    'connection: close',
  ]);
});

/** A connection that accepts data once in each turn of the event loop. */
class TurnedResponse extends Writable {
  turns = 0;
  readonly parts: Buffer[] = [];
  headers: Readonly<Record<string, unknown>> = {};

  writeHead(_status: number, headers: Readonly<Record<string, unknown>>): void {
    this.headers = headers;
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.turns++;
    for (const { chunk } of chunks) this.parts.push(chunk);
    setImmediate(done);
  }
}

async function written(headers: Record<string, string>): Promise<{ response: TurnedResponse; sent: Buffer }> {
  const response = new TurnedResponse();
  const pieces = Array.from({ length: 320 }, (_, index) => Buffer.alloc(65_536, String(index)));
  const ended = new Promise((resolve) => response.once('finish', resolve));
  await writeBody(
    fakeRequest('GET', '/', { headers }),
    response as unknown as NodeResponse,
    { kind: 'body', status: 200, headers: {}, body: pieces },
    { gzipFromBytes: 100_000 },
  );
  await ended;
  const packed = Buffer.concat(response.parts);
  const sent = response.headers['content-encoding'] === 'gzip' ? gunzipSync(packed) : packed;
  assert.ok(sent.equals(Buffer.concat(pieces)));
  return { response, sent };
}

test('a long response does not take a turn of the event loop for each of its pieces', async () => {
  const { response, sent } = await written({});
  assert.ok(response.turns <= (2 * sent.length) / 2 ** 20, `${response.turns} turns`);
  assert.ok(response.turns >= sent.length / 2 ** 20 / 4, `${response.turns} turns: all of it waits in memory`);
});

test('a long response arrives complete when it is compressed', async () => {
  const { response } = await written({ 'accept-encoding': 'gzip' });
  assert.equal(response.headers['content-encoding'], 'gzip');
});
