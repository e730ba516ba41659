import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endToEndHeaders } from './hop-by-hop.ts';

test('forwarded messages have no hop-by-hop headers, neither the standard ones nor those that Connection names', () => {
  const kept = { 'x-kept': '1', 'set-cookie': ['a', 'b'], 'content-length': '5' };
  assert.deepEqual(
    endToEndHeaders({
      ...kept,
      connection: 'Keep-Alive,  X-Own ,',
      'x-own': '1',
      'keep-alive': 'x',
      'proxy-connection': 'x',
      te: 'x',
      trailer: 'x',
      'transfer-encoding': 'x',
      upgrade: 'x',
      'proxy-authorization': 'x',
      'x-none': undefined,
    }),
    kept,
  );
  assert.deepEqual(endToEndHeaders({ ...kept, connection: ['x-kept', 'Content-Length'] }), {
    'set-cookie': ['a', 'b'],
  });
  assert.deepEqual(
    Object.keys(
      endToEndHeaders(
        Object.fromEntries([
          ['__proto__', 'x'],
          ['constructor', 'y'],
        ]),
      ),
    ),
    ['__proto__', 'constructor'],
  );
});
