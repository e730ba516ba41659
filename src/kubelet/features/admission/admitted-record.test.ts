import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { AdmittedRecord, isAdmittedPods } from './admitted-record.ts';

const [a, b, c] = [podUid('a'), podUid('b'), podUid('c')];

function setUp(...args: ConstructorParameters<typeof AdmittedRecord>) {
  const record = new AdmittedRecord(...args);
  const calls = { changes: 0 };
  const stop = record.onChange(() => calls.changes++);
  return { record, calls, stop };
}

describe('the record of admitted pods', () => {
  it('holds a pod as admitted or as stopped to make room, never as both', () => {
    const { record, calls } = setUp();
    record.add(b);
    record.add(a);
    assert.deepEqual(record.snapshot(), { admitted: ['a', 'b'], preempted: [] });
    record.preempt(b);
    record.preempt(a);
    assert.deepEqual([record.has(a), record.isPreempted(a)], [false, true]);
    assert.deepEqual(record.snapshot(), { admitted: [], preempted: ['a', 'b'] });
    assert.equal(calls.changes, 4);
  });

  it('notifies its listeners of changes, and of nothing else', () => {
    const { record, calls, stop } = setUp();
    record.add(a);
    record.add(a);
    record.forget(b);
    assert.equal(calls.changes, 1);
    record.forget(a);
    assert.equal(calls.changes, 2);
    record.preempt(b);
    record.forget(b);
    assert.equal(calls.changes, 4);
    stop();
    record.add(c);
    assert.equal(calls.changes, 4);
  });

  it('continues from the saved state, and drops what no source knows', () => {
    const { record } = setUp({ admitted: ['a', 'b'], preempted: ['c'] });
    assert.deepEqual([record.has(a), record.isPreempted(c)], [true, true]);
    record.forgetUnknown(new Set([b]));
    assert.deepEqual(record.snapshot(), { admitted: ['b'], preempted: [] });
  });

  it('is read only from a file of its own shape', () => {
    assert.equal(isAdmittedPods({ admitted: ['a'], preempted: [] }), true);
    for (const other of [undefined, null, 'x', {}, { admitted: ['a'] }, { preempted: [] }])
      assert.equal(isAdmittedPods(other), false);
    assert.equal(isAdmittedPods({ admitted: 'a', preempted: [] }), false);
    assert.equal(isAdmittedPods({ admitted: [], preempted: ['a', 1] }), false);
  });
});
