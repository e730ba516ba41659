// docs/README.md records how many changes the tests notice: each row names code that exists, and reaches its goal.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const GOALS = [80, 90];

interface RecordedScore {
  readonly code: string;
  readonly goal: number;
  readonly noticed: number;
}

function readRecordedScores(text: string): RecordedScore[] {
  const rows = text.matchAll(/^\| `([^`]+)` \| (\d+) % \| (\d+) % \|$/gm);
  return [...rows].map(([, code = '', goal, noticed]) => ({ code, goal: Number(goal), noticed: Number(noticed) }));
}

/** What is wrong with the rows. */
function recordFaults(rows: readonly RecordedScore[], exists: (code: string) => boolean): string[] {
  const seen = new Set<string>();
  return rows.flatMap(({ code, goal, noticed }) => {
    const faults = [
      ...(exists(code) ? [] : [`${code} does not exist`]),
      ...(seen.has(code) ? [`${code} is there twice`] : []),
      ...(GOALS.includes(goal) ? [] : [`${code}: ${goal} % is no goal`]),
      ...(noticed >= goal && noticed <= 100 ? [] : [`${code}: ${noticed} % is below its goal`]),
    ];
    seen.add(code);
    return faults;
  });
}

test('the recorded scores reach their goals, for code that exists', () => {
  const rows = readRecordedScores(readFileSync(path.join(root, 'docs/README.md'), 'utf8'));
  assert.ok(rows.length >= 30, `${rows.length} rows: the table has another form`);
  assert.deepEqual(
    recordFaults(rows, (code) => existsSync(path.join(root, code))),
    [],
  );
});

test('a row below its goal, of another goal, twice, or of code that is gone is found', () => {
  const text = ['| `a` | 80 % | 79 % |', '| `b` | 70 % | 70 % |', '| `c` | 90 % | 90 % |', '| `c` | 90 % | 91 % |'];
  assert.deepEqual(
    recordFaults(readRecordedScores(text.join('\n')), (code) => code !== 'b'),
    ['a: 79 % is below its goal', 'b does not exist', 'b: 70 % is no goal', 'c is there twice'],
  );
});
