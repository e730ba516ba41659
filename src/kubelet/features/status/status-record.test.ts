import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readStatuses } from './status-record.ts';

it('holds the newest status of each pod, and none of a pod that is gone', () => {
  const lines = [
    { uid: 'a', status: { phase: 'Pending' } },
    { uid: 'b', status: { phase: 'Pending' } },
    { uid: 'c', status: { phase: 'Pending' } },
    { uid: 'a', status: { phase: 'Running' } },
    { gone: 'b' },
    { gone: 'c' },
    { uid: 'c', status: { phase: 'Running' } },
  ];
  assert.deepEqual(
    [...readStatuses(lines)],
    [
      ['a', { phase: 'Running' }],
      ['c', { phase: 'Running' }],
    ],
  );
});

it('leaves out lines of another shape', () => {
  const strange = [undefined, null, 'text', 7, [], {}, { uid: 1, status: {} }, { uid: 'a' }, { gone: 7 }];
  const statuses = [null, [], 'Running'].map((status) => ({ uid: 'a', status }));
  assert.deepEqual([...readStatuses([...strange, ...statuses])], []);
  assert.deepEqual([...readStatuses([{ uid: '__proto__', status: {} }])], [['__proto__', {}]]);
});
