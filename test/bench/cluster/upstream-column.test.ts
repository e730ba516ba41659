import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upstreamColumn, withUpstream } from './upstream-column.ts';

test('rows with a floor are identified by it, others by their median', () => {
  const column = upstreamColumn(
    JSON.stringify({
      rows: [
        { name: 'start', unit: 'ms', agent: { median: 600 }, floor: { median: 200 } },
        { name: 'burst30-wall', unit: 'ms', agent: { median: 3000 }, floor: { median: 2000 } },
        { name: 'exit', unit: 'ms', agent: { median: 1900 }, floor: { median: 40 } },
        { name: 'steady50-cpu', unit: 'mcpu', agent: { median: 3.44 } },
      ],
    }),
  );
  assert.deepEqual([...column.values()], ['floor + 400 ms', '3000 ms, x1.50', '1900 ms', '3.4 mcpu']);
  const row = { name: 'exit', title: '', unit: 'ms', agent: [1], floor: [] } as const;
  assert.equal(withUpstream(row, column).upstream, '1900 ms');
  assert.equal(withUpstream({ ...row, name: 'other' }, column).upstream, undefined);
});
