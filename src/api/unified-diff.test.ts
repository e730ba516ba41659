import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { unifiedDiff } from './unified-diff.ts';

test('a change is shown with three lines around it, as unified diffs are', () => {
  const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 };
  assert.equal(
    unifiedDiff(before, { ...before, d: 40 }),
    '@@ -2,7 +2,7 @@\n  "a": 1,\n  "b": 2,\n  "c": 3,\n- "d": 4,\n+ "d": 40,\n  "e": 5,\n  "f": 6,\n  "g": 7,\n',
  );
  assert.equal(unifiedDiff(before, before), '');
  assert.equal(unifiedDiff({ b: 1, a: 2 }, { a: 2, b: 1 }), '');
});

test('changes far apart stand in two parts, and a replaced whole in one', () => {
  const long = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`k${String(index).padStart(2, '0')}`, index]),
  );
  assert.deepEqual(unifiedDiff(long, { ...long, k03: -1, k25: -1 }).match(/@@ .* @@/g), [
    '@@ -2,7 +2,7 @@',
    '@@ -24,7 +24,7 @@',
  ]);
  assert.equal(unifiedDiff([1], []), '@@ -1,3 +1 @@\n-[\n- 1\n-]\n+[]\n');
});

/** Applies the hunks to the old text, as `patch` does. */
function patched(before: readonly string[], diff: string): string[] {
  const result: string[] = [];
  let next = 0;
  for (const hunk of diff.split(/^(?=@@ )/m).filter((part) => part !== '')) {
    const [head = '', ...lines] = hunk.split('\n').slice(0, -1);
    const [, start = '0', length = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(head) ?? [];
    const first = Number(start) - (length === '0' ? 0 : 1);
    result.push(...before.slice(next, first));
    next = first;
    for (const line of lines) {
      if (line[0] !== '+') assert.equal(line.slice(1), before[next++]);
      if (line[0] !== '-') result.push(line.slice(1));
    }
  }
  return [...result, ...before.slice(next)];
}

test('the old text with the diff applied is the new text', () => {
  const values = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 });
  fc.assert(
    fc.property(values, values, (before, after) => {
      const lines = (value: unknown): string[] => JSON.stringify(value, null, 1).split('\n');
      assert.deepEqual(patched(lines(before), unifiedDiff(before, after)), lines(after));
    }),
  );
});

test('texts too long for an exact comparison are compared in bounded time', () => {
  const many = (from: number): number[] => Array.from({ length: 50_000 }, (_, index) => from + index);
  assert.ok(unifiedDiff(many(0), many(1_000_000)).startsWith('@@ -1,'));
});
