import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readText } from './read-text.ts';

test('a stream is read to its end, even if a character is split between two chunks', async () => {
  const [first, second] = [Buffer.from('gr\u00fc').subarray(0, 3), Buffer.from('gr\u00fc\u00df').subarray(3)];
  assert.equal(await readText(Readable.from([first, second]), 100), 'grüß');
});

test('a stream above the limit is destroyed instead of read to its end', async () => {
  const stream = Readable.from([Buffer.alloc(10), Buffer.alloc(10), Buffer.alloc(10)]);
  assert.equal(await readText(stream, 15), undefined);
  assert.equal(stream.destroyed, true);
});

test('reading an aborted stream rejects, because its text is incomplete', async () => {
  const abort = new AbortController();
  async function* endsWithSignal(): AsyncGenerator<Buffer> {
    yield Buffer.from('half');
    await Promise.resolve(abort.abort(new Error('too late')));
  }
  await assert.rejects(readText(endsWithSignal(), 100, abort.signal), /too late/);
});
