import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { OrderedDelivery } from './ordered-delivery.ts';

const object = (name: string): ApiObject => ({ metadata: { name, namespace: '', uid: '' } });

/** Creates a delivery in which objects whose name begins with `slow` wait until they are released. */
function delivery(): {
  readonly push: (name: string) => void;
  readonly release: (error?: Error) => Promise<void>;
  readonly seen: string[];
  readonly asked: string[][];
  readonly queue: OrderedDelivery;
} {
  const seen: string[] = [];
  const asked: string[][] = [];
  const ready = new Set<ApiObject>();
  let settle: ((error?: Error) => void) | undefined;
  const prepare = (objects: readonly ApiObject[]): Promise<void> | undefined => {
    const missing = objects.filter((each) => each.metadata.name.startsWith('slow') && !ready.has(each));
    if (missing.length === 0) return undefined;
    asked.push(missing.map(({ metadata }) => metadata.name));
    return new Promise((resolve, reject) => {
      settle = (error) => {
        for (const each of missing) ready.add(each);
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  };
  const queue = new OrderedDelivery(prepare, (error) => seen.push(`failed: ${error.message}`));
  return {
    push: (name) => queue.push([object(name)], () => seen.push(name)),
    release: async (error) => {
      settle?.(error);
      await new Promise((resolve) => setImmediate(resolve));
    },
    seen,
    asked,
    queue,
  };
}

describe('ordered delivery', () => {
  it('items are delivered at once if nothing must be awaited', () => {
    const { push, seen } = delivery();
    push('a');
    push('b');
    assert.deepEqual(seen, ['a', 'b']);
  });

  it('waits for earlier events in conversion, and converts waiting events in one batch', async () => {
    const { push, release, seen, asked } = delivery();
    push('slow-1');
    push('a');
    push('slow-2');
    push('slow-3');
    assert.deepEqual(seen, []);
    await release();
    assert.deepEqual(seen, ['slow-1']);
    await release();
    assert.deepEqual(seen, ['slow-1', 'a', 'slow-2', 'slow-3']);
    assert.deepEqual(asked.at(-1), ['slow-2', 'slow-3']);
    push('b');
    assert.equal(seen.at(-1), 'b');
  });

  it('ends with the error of a conversion', async () => {
    const { push, release, seen } = delivery();
    push('slow-1');
    push('a');
    await release(new Error('no'));
    push('b');
    assert.deepEqual(seen, ['failed: no']);
  });

  it('asks once for each item, so that no failure is left without a reader', async () => {
    const asked: string[] = [];
    const failures: string[] = [];
    const queue = new OrderedDelivery(
      ([first]) => {
        asked.push(first?.metadata.name ?? '');
        return Promise.reject(new Error('away'));
      },
      (error) => failures.push(error.message),
    );
    queue.push([object('a')], () => assert.fail('delivered'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([asked, failures], [['a'], ['away']]);
  });

  it('ends when it is closed or falls too far behind', async () => {
    const closed = delivery();
    closed.push('slow-1');
    closed.queue.close();
    await closed.release();
    assert.deepEqual(closed.seen, []);
    const behind = delivery();
    for (let index = 0; index <= 10_001; index++) behind.push(`slow-${index}`);
    assert.deepEqual(behind.seen, ['failed: the watch fell behind its conversion webhook']);
  });
});
