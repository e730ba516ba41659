import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AnswerState } from './http-answer.ts';
import { AnswerReader } from './http-answer.ts';

const LIMITS = { headBytes: 1024, bodyBytes: 64 };

/** Feeds the text in pieces of this size through one reused buffer, as a socket does, then closes. */
function read(text: string, pieceBytes = text.length || 1): AnswerState {
  const reader = new AnswerReader(LIMITS);
  const bytes = Buffer.from(text, 'latin1');
  const shared = Buffer.alloc(pieceBytes);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const size = bytes.copy(shared, 0, at, at + pieceBytes);
    const state = reader.push(shared.subarray(0, size));
    if (state.kind !== 'more') return state;
    shared.fill(0x78);
  }
  return reader.end();
}

const answer = (status: number, body: string, location?: string): AnswerState => ({
  kind: 'answer',
  status,
  location,
  body,
});

test('a response with a length, with chunks, or up to the end of the connection has status and body', () => {
  assert.deepEqual(read('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokrest'), answer(200, 'ok'));
  assert.deepEqual(
    read('HTTP/1.1 503 \r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n'),
    answer(503, 'abcde'),
  );
  assert.deepEqual(read('HTTP/1.0 200 OK\r\n\r\nto the end'), answer(200, 'to the end'));
  assert.deepEqual(read('HTTP/1.1 204 No Content\r\n\r\n'), answer(204, ''));
  assert.deepEqual(read('HTTP/1.1 302 Found\nLocation:  /there \n\n'), answer(302, '', '/there'));
});

test('an interim response is skipped', () => {
  assert.deepEqual(
    read('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx'),
    answer(200, 'x'),
  );
});

test('endless interim responses are not awaited', () => {
  assert.deepEqual(read('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(6)), {
    kind: 'malformed',
    message: 'net/http: too many 1xx informational responses',
  });
});

test('only the beginning of a long body is read', () => {
  assert.deepEqual(
    read(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(64)}`),
    answer(200, 'x'.repeat(64)),
  );
  assert.deepEqual(
    read(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n${'y'.repeat(80)}`),
    answer(200, 'y'.repeat(64)),
  );
});

test('invalid HTTP is recognised at once; an early end is a cut', () => {
  assert.deepEqual(read('not http at all'), {
    kind: 'malformed',
    message: 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "not http at all"',
  });
  assert.equal(read('HTTP/1.1 two hundred\r\n\r\n').kind, 'malformed');
  assert.equal(read(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(2000)}`).kind, 'malformed');
  assert.deepEqual(read(''), { kind: 'cut', message: 'EOF' });
  assert.deepEqual(read('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'), { kind: 'cut', message: 'unexpected EOF' });
  assert.deepEqual(read('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'), {
    kind: 'cut',
    message: 'invalid byte in chunk length',
  });
});

test('the result does not depend on how a response is split into pieces', () => {
  const texts = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
    'HTTP/1.1 302 Found\nLocation: /a\n\nbody',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.integer({ min: 1, max: 20 }), (text, pieceBytes) =>
      assert.deepEqual(read(text, pieceBytes), read(text)),
    ),
  );
});
