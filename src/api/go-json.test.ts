import assert from 'node:assert/strict';
import test from 'node:test';
import { goJson } from './go-json.ts';

test('escapes what Go’s encoder escapes, and the value stays the same', () => {
  const value = { command: 'a && b <c >d', line: '\u2028\u2029', plain: 'ü"\\' };
  const text = goJson(value);
  assert.equal(text, '{"command":"a \\u0026\\u0026 b \\u003cc \\u003ed","line":"\\u2028\\u2029","plain":"ü\\"\\\\"}');
  assert.deepEqual(JSON.parse(text), value);
});
