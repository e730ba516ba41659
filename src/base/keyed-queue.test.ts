import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KeyedQueue } from './keyed-queue.ts';

describe('a queue per key', () => {
  it('runs the work of one key in order, and work of different keys concurrently', async () => {
    const queue = new KeyedQueue();
    const first = Promise.withResolvers<void>();
    const order: string[] = [];
    const work = (name: string, until?: Promise<void>) => async (): Promise<string> => {
      order.push(`${name} begins`);
      await until;
      order.push(`${name} ends`);
      return name;
    };
    const results = [queue.run('a', work('one', first.promise)), queue.run('a', work('two'))];
    assert.equal(await queue.run('b', work('other')), 'other');
    first.resolve();
    assert.deepEqual(await Promise.all(results), ['one', 'two']);
    assert.deepEqual(order, ['one begins', 'other begins', 'other ends', 'one ends', 'two begins', 'two ends']);
  });

  it('reports a failure only to its caller', async () => {
    const queue = new KeyedQueue();
    const failing = queue.run('a', () => Promise.reject(new Error('no')));
    const next = queue.run('a', () => Promise.resolve('yes'));
    await assert.rejects(failing, /no/);
    assert.equal(await next, 'yes');
  });

  it('runs new work of a key whose earlier work has ended', async () => {
    const queue = new KeyedQueue();
    assert.equal(await queue.run('a', () => Promise.resolve(1)), 1);
    assert.equal(await queue.run('a', () => Promise.resolve(2)), 2);
  });
});
