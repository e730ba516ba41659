import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAnswered, parseSeedsTable } from './seeds-table.ts';

const document = readFileSync(join(import.meta.dirname, '..', 'docs', 'seeds.md'), 'utf8');

test('a row has its command without the escapes of the table, and its answer in pieces', () => {
  const { blocks, rows } = parseSeedsTable(
    'x\n\n```sh\nexport A=1\n```\n\n| # | a | b | c | d |\n|---|---|---|---|---|\n| 1.2 | s | f | `echo a \\| cat` | `a … b` |\n',
  );
  assert.deepEqual(blocks, ['export A=1\n']);
  assert.deepEqual(rows, [{ id: '1.2', command: 'echo a | cat', answer: ['a ', ' b'] }]);
});

test('a row that could not fail is refused', () => {
  assert.throws(() => parseSeedsTable('| 1.1 | s | f | `true` | `…` |'), /any answer would do/);
  assert.throws(() => parseSeedsTable('| 1.1 | s | f | `true` | |'), /needs a command and an answer/);
});

test('an answer is found in order and nothing of it may be missing', () => {
  assert.equal(isAnswered('one two three', ['one', 'three']), true);
  assert.equal(isAnswered('three one', ['one', 'three']), false);
  assert.equal(isAnswered('one', ['one', 'one']), false);
});

test('every section of the five documents has a row, numbered in order', () => {
  const { rows } = parseSeedsTable(document);
  for (const seed of [1, 2, 3, 4, 5]) {
    const numbers = rows.filter(({ id }) => id.startsWith(`${seed}.`)).map(({ id }) => Number(id.split('.')[1]));
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
    assert.ok(numbers.length > 5, `document ${seed} has ${numbers.length} rows`);
  }
});
