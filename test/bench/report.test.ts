import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';
import type { Row } from './report.ts';
import { judge, renderMarkdown, renderTable, summarize } from './report.ts';

const row = (extra: Partial<Row>): Row => ({
  name: 'start',
  title: 'start',
  unit: 'ms',
  agent: [110],
  floor: [100],
  ...extra,
});

test('the median of an even number of samples lies between the two in the middle', () => {
  assert.deepEqual(summarize([4, 1, 3, 2]), { n: 4, median: 2.5, min: 1, max: 4 });
  assert.deepEqual(summarize([9]), { n: 1, median: 9, min: 9, max: 9 });
  assert.throws(() => summarize([]));
});

test('a target is judged by medians, against the floor of the same run where it is relative', () => {
  assert.equal(judge(row({ target: { kind: 'floorPlus', value: 60 } })).over, -50);
  assert.equal(judge(row({ target: { kind: 'floorTimes', value: 0.6 } })).over, 50);
  assert.equal(judge(row({ target: { kind: 'atMost', value: 110 } })).over, 0);
  assert.equal(judge(row({})).over, undefined);
});

test('what must be at least so much is missed from below', () => {
  const rate = row({ unit: '/s', agent: [900], target: { kind: 'atLeast', value: 1000 } });
  assert.equal(judge(rate).over, 100);
  assert.match(renderTable([rate], 'control plane')[1] ?? '', />= 1000 \/s +under by 100 \/s$/);
  assert.match(renderTable([rate], 'control plane')[0] ?? '', /control plane to floor/);
  assert.equal(judge(row({ unit: '/s', agent: [1000], target: { kind: 'atLeast', value: 1000 } })).over, 0);
});

test('a relative target without a floor is a malfunction, not a pass', () => {
  assert.throws(() => judge(row({ floor: [], target: { kind: 'floorPlus', value: 60 } })));
});

test('the table says by how much a target is missed', () => {
  const [, line] = renderTable([row({ agent: [200, 180, 220], target: { kind: 'floorPlus', value: 60 } })]);
  assert.match(
    line ?? '',
    /^start +200 ms \(180\.\.220\) +100 ms +3 +\+100 ms, x2\.00 +<= floor \+ 60 ms +over by 40 ms$/,
  );
  assert.match(renderTable([row({ target: { kind: 'atMost', value: 110 } })])[1] ?? '', /PASS$/);
});

test('Markdown has one line per row below two of heading', () => {
  assert.equal(renderMarkdown([row({}), row({})]).length, 4);
});

test('options: names and numbers are checked, quick takes fewer samples', () => {
  assert.deepEqual(parseOptions(['--only', 'idle,burst', '--only', 'exit'])?.only, ['idle', 'burst', 'exit']);
  assert.throws(() => parseOptions(['--only', 'nothing']), /there is no row "nothing", there are: start, delete/);
  assert.throws(() => parseOptions(['--samples', '0']), /not a whole number from 1/);
  assert.ok((parseOptions(['--quick'])?.samples ?? 99) < (parseOptions([])?.samples ?? 0));
  assert.equal(parseOptions(['--help']), undefined);
});
