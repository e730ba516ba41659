import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rpcMessage } from './rpc-message.ts';

test('only a code at the very beginning is removed, and only once', () => {
  const said = (text: string): string => rpcMessage(text);
  assert.equal(
    said('rpc error: code = Unknown desc = failed to create containerd task: no'),
    'failed to create containerd task: no',
  );
  assert.equal(
    said('rpc error: code = NotFound desc = rpc error: code = Unknown desc = x'),
    'rpc error: code = Unknown desc = x',
  );
  assert.equal(said('could not: rpc error: code = Unknown desc = x'), 'could not: rpc error: code = Unknown desc = x');
});
