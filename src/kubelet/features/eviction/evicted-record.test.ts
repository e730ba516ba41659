import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { EvictedRecord, isEvictedPods } from './evicted-record.ts';

const verdict = { reason: 'Evicted', message: 'why' };

test('the first verdict is kept, survives a restart and is removed with the pod', () => {
  const record = new EvictedRecord();
  let changes = 0;
  record.onChange(() => changes++);
  record.add(podUid('a'), verdict);
  record.add(podUid('a'), { ...verdict, message: 'later' });
  record.add(podUid('b'), verdict);
  const saved: unknown = JSON.parse(JSON.stringify(record.snapshot()));
  assert.ok(isEvictedPods(saved));
  const next = new EvictedRecord(saved);
  assert.deepEqual(next.get(podUid('a')), verdict);
  next.forgetUnknown({ has: (uid) => uid === 'b' });
  assert.deepEqual([next.has(podUid('a')), next.has(podUid('b')), changes], [false, true, 2]);
});

test('a file that holds something else is no such record', () => {
  for (const value of [null, [], 'x', { a: 1 }, { a: { reason: 'Evicted' } }, { a: { ...verdict, condition: 7 } }])
    assert.equal(isEvictedPods(value), false, JSON.stringify(value));
});
