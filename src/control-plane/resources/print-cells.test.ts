import assert from 'node:assert/strict';
import test from 'node:test';
import { formatAge, formatLabels, formatSelector, humanDuration, listSome, selectorText } from './print-cells.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test('durations show two units while the smaller one still says something', () => {
  const cases: readonly [number, string][] = [
    [-5 * second, '<invalid>'],
    [-1500, '0s'],
    [-500, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 5 * second, '2m5s'],
    [10 * minute + 59 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [48 * hour, '2d'],
    [49 * hour, '2d1h'],
    [8 * day + 5 * hour, '8d'],
    [729 * day, '729d'],
    [731 * day, '2y1d'],
    [8 * 365 * day + 3 * day, '8y'],
  ];
  assert.deepEqual(
    cases.map(([ms]) => humanDuration(ms)),
    cases.map(([, text]) => text),
  );
});

test('a missing time is shown as unknown', () => {
  assert.equal(formatAge(undefined, 0), '<unknown>');
  assert.equal(formatAge('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:30Z')), '30s');
});

test('selectors and labels are written sorted by key', () => {
  const selector = {
    matchLabels: { web: 'x', app: 'y' },
    matchExpressions: [
      { key: 'gone', operator: 'DoesNotExist' as const },
      { key: 'tier', operator: 'In' as const, values: ['b', 'a'] },
      { key: 'it', operator: 'Exists' as const },
      { key: 'no', operator: 'NotIn' as const, values: ['z'] },
    ],
  };
  assert.equal(selectorText(selector), 'app=y,!gone,it,no notin (z),tier in (a,b),web=x');
  assert.deepEqual(
    [formatSelector({}), formatSelector(undefined), formatLabels({}), formatLabels({ b: '2', a: '1' })],
    ['<none>', '<none>', '<none>', 'a=1,b=2'],
  );
});

test('long lists show three', () => {
  assert.deepEqual(
    [listSome([], '<unset>'), listSome(['a', 'b', 'c'], ''), listSome(['a', 'b', 'c', 'd', 'e'], '')],
    ['<unset>', 'a,b,c', 'a,b,c + 2 more...'],
  );
});
