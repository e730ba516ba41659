import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { writeRaw } from './write-reply.ts';

test('an answer to a refused upgrade has the headers it was given and no more: nothing in a value ends its line', () => {
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
