import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { AuditBatches } from './audit-batches.ts';
import type { AuditBatchesOptions } from './audit-batches.ts';

/** Creates a webhook that returns these responses, then status 200. */
function setUp(answers: (number | Error)[] = [], more: Partial<AuditBatchesOptions> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const lists: number[][] = [];
  const batches = new AuditBatches({
    post: (body) => {
      const { kind, items } = JSON.parse(body) as { kind: string; items: number[] };
      assert.equal(kind, 'EventList');
      lists.push(items);
      const answer = answers.shift() ?? 200;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ status: answer });
    },
    maxSize: 3,
    maxWaitMs: 30_000,
    bufferSize: 5,
    initialBackoffMs: 10_000,
    clock,
    log,
    ...more,
  });
  const add = (...events: number[]): void => events.forEach((event) => batches.add(String(event)));
  return { clock, log, lists, batches, add };
}

describe('audit events for a webhook', () => {
  it('are sent when the list is full, or after the maximum wait', async () => {
    const { clock, lists, add } = setUp();
    add(1, 2, 3, 4);
    await clock.advance(0);
    assert.deepEqual(lists, [[1, 2, 3], [4]]);
    add(5);
    await clock.advance(29_999);
    assert.equal(lists.length, 2);
    await clock.advance(1);
    assert.deepEqual(lists.at(-1), [5]);
  });

  it('are retried with growing delays, in order, and dropped after five attempts with a count in the log', async () => {
    const { clock, lists, add, log } = setUp([500, new Error('refused'), 500, 500, 500]);
    add(1, 2, 3);
    await clock.advance(9_999);
    assert.equal(lists.length, 1);
    add(4);
    await clock.advance(200_000);
    assert.deepEqual(lists, [...Array.from({ length: 5 }, () => [1, 2, 3]), [4]]);
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields),
      [{ events: 3 }],
    );
  });

  it('are dropped and counted when the buffer is full', async () => {
    const { clock, lists, add, log } = setUp([503]);
    add(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    await clock.advance(15_000);
    assert.deepEqual(lists.flat(), [1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields),
      [{ events: 2 }],
    );
  });

  it('that are buffered when the server stops are sent once more', async () => {
    const { batches, lists, add } = setUp([500]);
    add(1, 2);
    await batches.close();
    assert.deepEqual(lists, [[1, 2]]);
  });
});
