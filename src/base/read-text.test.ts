import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readText } from './read-text.ts';

test('a stream is read to its end, also where a letter is cut in two', async () => {
  const [first, second] = [Buffer.from('gr\u00fc').subarray(0, 3), Buffer.from('gr\u00fc\u00df').subarray(3)];
  assert.equal(await readText(Readable.from([first, second]), 100), 'grüß');
});

test('a stream that is too long is not read to its end but destroyed', async () => {
  const stream = Readable.from([Buffer.alloc(10), Buffer.alloc(10), Buffer.alloc(10)]);
  assert.equal(await readText(stream, 15), undefined);
  assert.equal(stream.destroyed, true);
});

test('a stream that ends by an abort rejects: its text is incomplete', async () => {
  const abort = new AbortController();
  async function* endsWithSignal(): AsyncGenerator<Buffer> {
    yield Buffer.from('half');
    await Promise.resolve(abort.abort(new Error('too late')));
  }
  await assert.rejects(readText(endsWithSignal(), 100, abort.signal), /too late/);
});
