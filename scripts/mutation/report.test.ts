import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MutationReport } from './report.ts';
import { renderScores, scoreOf, summarizeReport } from './report.ts';

const source = 'if (a === 1)\n  run(\n    a,\n  );\n';
const mutant = (status: string, replacement: string): MutationReport['files'][string]['mutants'][number] => ({
  status,
  replacement,
  location: { start: { line: 1, column: 5 }, end: { line: 1, column: 12 } },
});
const block = { start: { line: 2, column: 3 }, end: { line: 4, column: 4 } };

test('changes that were not noticed are shown with their line, and the others are counted', () => {
  const mutants = [
    mutant('Killed', 'true'),
    mutant('Timeout', 'a !== 1'),
    mutant('Survived', 'false'),
    { status: 'NoCoverage', replacement: '{}', location: block },
    mutant('Ignored', 'true'),
  ];
  const { scores, missed } = summarizeReport({ files: { 'x.ts': { source, mutants } } });
  assert.deepEqual(scores, [{ file: 'x.ts', noticed: 2, total: 4 }]);
  assert.deepEqual(missed, ['x.ts:1: if (a === 1)  =>  if (false)', 'x.ts:2: run( a, );  =>  {}; (no test runs it)']);
});

test('changes that are known to change nothing do not count, and only in their file', () => {
  const files = { 'x.ts': { source, mutants: [mutant('Killed', 'true'), mutant('Survived', 'false')] } };
  const known = { file: 'x.ts', from: 'if (a === 1)', to: 'if (false)', why: 'a test' };
  assert.deepEqual(summarizeReport({ files }, [known]).scores, [{ file: 'x.ts', noticed: 1, total: 1 }]);
  assert.equal(summarizeReport({ files }, [{ ...known, file: 'y.ts' }]).missed.length, 1);
});

test('scores are rounded down, so that 90 % is at least 90 %', () => {
  assert.equal(scoreOf([{ noticed: 899, total: 1000 }]), 89);
  assert.equal(scoreOf([]), 100);
  const table = renderScores([
    { file: 'a.ts', noticed: 9, total: 10 },
    { file: 'b.ts', noticed: 1, total: 2 },
  ]);
  assert.deepEqual(
    table.split('\n').map((line) => line.trim().replace(/\s+/g, ' ')),
    ['50 % 1/2 b.ts', '90 % 9/10 a.ts', '83 % 10/12 all'],
  );
});
