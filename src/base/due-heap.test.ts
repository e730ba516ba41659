import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { DueHeap } from './due-heap.ts';

it('returns due calls by time, then by creation, and omits cancelled ones', () => {
  const entries = fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 20 }), cancelled: fc.boolean() }));
  fc.assert(
    fc.property(entries, fc.integer({ min: 0, max: 20 }), (list, nowMs) => {
      const heap = new DueHeap();
      const fired: number[] = [];
      list.forEach(({ dueMs, cancelled }, index) => {
        const entry = heap.add(dueMs, () => fired.push(index));
        if (cancelled) entry.fire = undefined;
      });
      for (let fire = heap.takeDue(nowMs); fire !== undefined; fire = heap.takeDue(nowMs)) fire();
      const live = list.map((entry, index) => ({ ...entry, index })).filter((entry) => !entry.cancelled);
      const due = live
        .filter((entry) => entry.dueMs <= nowMs)
        .sort((left, right) => left.dueMs - right.dueMs || left.index - right.index);
      assert.deepEqual(
        fired,
        due.map((entry) => entry.index),
      );
      assert.equal(heap.size, live.length - due.length);
    }),
  );
});
