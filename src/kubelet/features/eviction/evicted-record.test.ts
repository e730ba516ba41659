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

test('a file with other content is not a valid record', () => {
  for (const value of [null, [], 'x', { a: 1 }, { a: { reason: 'Evicted' } }, { a: { ...verdict, condition: 7 } }])
    assert.equal(isEvictedPods(value), false, JSON.stringify(value));
});

test('a verdict may have a condition, and each change is announced once', () => {
  const condition = { type: 'DisruptionTarget', status: 'True' };
  for (const value of [{}, { a: verdict }, { a: { ...verdict, condition }, b: verdict }])
    assert.equal(isEvictedPods(value), true, JSON.stringify(value));
  for (const value of [{ a: { message: '' } }, { a: { ...verdict, reason: 1 } }, { a: null }, { a: 'x' }])
    assert.equal(isEvictedPods(value), false, JSON.stringify(value));
  assert.equal(isEvictedPods({ a: { ...verdict, condition: null } }), false);
  assert.equal(isEvictedPods({ a: verdict, b: 1 }), false);
  const record = new EvictedRecord({ a: verdict });
  let changes = 0;
  const stop = record.onChange(() => changes++);
  record.forget(podUid('unknown'));
  assert.equal(changes, 0);
  record.forget(podUid('a'));
  assert.deepEqual([changes, record.get(podUid('a'))], [1, undefined]);
  stop();
  record.add(podUid('b'), verdict);
  assert.equal(changes, 1);
});

test('only the newest 10,000 evicted pods are saved', () => {
  const all = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`pod-${index}`, verdict]));
  const saved = new EvictedRecord(all).snapshot();
  assert.deepEqual([Object.keys(saved).length, 'pod-0' in saved, 'pod-10000' in saved], [10_000, false, true]);
});
