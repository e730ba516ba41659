import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logRouting } from './log-routing.ts';

test('splitStream, infoBufferSize and flushFrequency are those of the configured format', () => {
  const options = {
    text: { splitStream: true, infoBufferSize: '1Ki' },
    json: { splitStream: false, infoBufferSize: '0' },
  };
  const text = { splitStream: true, infoBufferBytes: 1024, flushPeriodMs: 5000 };
  assert.deepEqual(logRouting({ options }), text);
  assert.deepEqual(logRouting({ format: 'text', options, flushFrequency: 2e9 }), { ...text, flushPeriodMs: 2000 });
  const json = { splitStream: false, infoBufferBytes: 0, flushPeriodMs: 1000 };
  assert.deepEqual(logRouting({ format: 'json', options, flushFrequency: '1s' }), json);
  assert.deepEqual(logRouting({}), { ...json, flushPeriodMs: 5000 });
});
