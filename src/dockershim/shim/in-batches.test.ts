import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { inBatches } from './in-batches.ts';

async function* numbers(until: number, error?: Error): AsyncIterable<number> {
  for (let number = 0; number < until; number += 1) yield number;
  if (error !== undefined) throw error;
}

it('what came meanwhile comes together, in order and whole', async () => {
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

it('the failure of the source comes after what came before it', async () => {
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const batch of inBatches(numbers(3, new Error('over')))) seen.push(...batch);
  }, /over/);
  assert.deepEqual(seen, [0, 1, 2]);
});

it('a reader that leaves ends the source', async () => {
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
