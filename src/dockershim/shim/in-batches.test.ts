import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { inBatches } from './in-batches.ts';

async function* numbers(until: number, error?: Error): AsyncIterable<number> {
  for (let number = 0; number < until; number += 1) yield number;
  if (error !== undefined) throw error;
}

it('items that arrive during processing form one batch, complete and in order', async () => {
  const batches: (readonly number[])[] = [];
  for await (const batch of inBatches(numbers(2500))) {
    batches.push(batch);
    for (let turns = 0; turns < 10; turns += 1) await turn();
  }
  assert.deepEqual(
    batches.flat(),
    Array.from({ length: 2500 }, (_none, index) => index),
  );
  assert.ok(batches.length < 10, `${batches.length} batches`);
  assert.ok(batches.every(({ length }) => length <= 1000));
});

it('a failure of the source follows the items that came before it', async () => {
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const batch of inBatches(numbers(3, new Error('over')))) seen.push(...batch);
  }, /over/);
  assert.deepEqual(seen, [0, 1, 2]);
});

it('a reader that stops ends the source', async () => {
  let isEnded = false;
  async function* endless(): AsyncIterable<number> {
    try {
      for (let number = 0; ; number += 1) yield number;
    } finally {
      isEnded = true;
    }
  }
  for await (const _batch of inBatches(endless())) break;
  for (let turns = 0; turns < 10; turns += 1) await turn();
  assert.equal(isEnded, true);
});

/** A source that the test feeds. */
function channel<T>(): { readonly push: (item: T) => void; readonly source: AsyncIterable<T> } {
  const items: T[] = [];
  let wake = Promise.withResolvers<void>();
  async function* read(): AsyncIterable<T> {
    for (;;) {
      for (const item of items.splice(0)) yield item;
      await wake.promise;
      wake = Promise.withResolvers();
    }
  }
  return { push: (item) => (items.push(item), wake.resolve()), source: read() };
}

it('items that may wait do so until their time is over or an urgent item arrives', async () => {
  const clock = new FakeClock();
  const { push, source } = channel<string>();
  const seen: string[] = [];
  const reading = (async () => {
    const patience = { clock, limitMs: 250, mayWait: (item: string) => !item.startsWith('!') };
    for await (const batch of inBatches(source, patience)) {
      seen.push(batch.join(' '));
      if (batch.includes('!end')) return;
    }
  })();
  push('a');
  await clock.advance(200);
  push('b');
  await clock.advance(49);
  assert.deepEqual(seen, []);
  await clock.advance(1);
  assert.deepEqual(seen, ['a b']);
  push('c');
  await clock.advance(100);
  push('!d');
  await clock.settle();
  assert.deepEqual(seen, ['a b', 'c !d']);
  push('e');
  await clock.advance(249);
  assert.equal(seen.length, 2);
  push('!end');
  await reading;
  assert.deepEqual([seen.at(-1), clock.armedTimers], ['e !end', 0]);
});

it('waiting items are passed on when the source ends', async () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const patience = { clock, limitMs: 250, mayWait: () => true };
  for await (const batch of inBatches(numbers(3), patience)) seen.push(...batch);
  assert.deepEqual([seen, clock.armedTimers], [[0, 1, 2], 0]);
});
