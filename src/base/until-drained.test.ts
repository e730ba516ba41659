import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { untilDrained } from './until-drained.ts';

test('a wait for room ends when the stream is drained or closed, and leaves no listener', async () => {
  for (const event of ['drain', 'close']) {
    const stream = new EventEmitter();
    let isOver = false;
    const waiting = untilDrained(stream).then(() => (isOver = true));
    stream.emit('pipe');
    await Promise.resolve();
    assert.equal(isOver, false);
    stream.emit(event);
    await waiting;
    assert.deepEqual(stream.eventNames(), [], event);
  }
});
