import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  conformance,
  mergeResults,
  nodeConformance,
  readDocument,
  readReport,
  withResults,
} from './conformance-table.ts';
import type { SpecResult } from './conformance-table.ts';

const EMPTY = 'Text.\n\n<!-- results: node scripts/conformance.ts -->\n<!-- end of results -->\n\nMore.\n';

const spec = (text: string, state: string, message?: string): object => ({
  ContainerHierarchyTexts: ['[sig-x] Group'],
  LeafNodeType: 'It',
  LeafNodeText: text,
  State: state,
  RunTime: 1_500_000_000,
  ...(message !== undefined && { Failure: { Message: message } }),
});
const report = (...specs: object[]): string =>
  JSON.stringify([{ StartTime: '2026-11-24T00:10:00Z', SpecReports: specs }]);
const result = (name: string, state: SpecResult['state'], more: Partial<SpecResult> = {}): SpecResult => ({
  name: `[sig-x] Group ${name} [Conformance]`,
  state,
  seconds: state === 'not run' ? 0 : 1.5,
  reason: '',
  run: '2026-11-24 abcdef01',
  ...more,
});

test('only specs of Conformance are read, and only what ran to its end and passed has passed', () => {
  const text = report(
    spec('a [Conformance]', 'passed'),
    spec('b [Conformance]', 'failed', 'expected 1\n  got 2'),
    spec('c [Conformance]', 'skipped'),
    spec('d [Conformance]', 'skipped', 'needs two nodes'),
    spec('e [Conformance]', 'interrupted'),
    spec('f', 'passed'),
    {
      ...spec('g [Conformance]', 'passed'),
      CapturedGinkgoWriterOutput:
        'a\nI1124 crd_util.go:84] Unexpected error while creating CustomResourceDefinition: no\nb',
    },
    { ...spec('', 'passed'), LeafNodeType: 'BeforeSuite' },
  );
  assert.deepEqual(readReport(text, 'abcdef01', conformance), [
    result('a', 'passed'),
    result('b', 'failed', { reason: 'expected 1 got 2' }),
    result('c', 'not run', { run: '' }),
    result('d', 'not run', { reason: 'skipped: needs two nodes' }),
    result('e', 'failed', { reason: 'interrupted' }),
    result('g', 'not run', { reason: 'ended early: no' }),
  ]);
});

test('a reason has no addresses in memory and no printed objects', () => {
  const message =
    'got <*errors.errorString | 0x3bc8cacbb450>: no page; got <*v1.Pod | 0x1f>: metadata: annotations: a: b';
  assert.deepEqual(readReport(report(spec('a [Conformance]', 'failed', message)), 'abcdef01', conformance), [
    result('a', 'failed', { reason: 'got <*errors.errorString>: no page; got <*v1.Pod> …' }),
  ]);
});

test('a later run replaces what it ran, a failure after a pass too, and leaves the rest', () => {
  const later = { run: '2026-11-25 12345678' };
  assert.deepEqual(
    mergeResults(
      [result('b', 'passed'), result('a', 'passed'), result('c', 'failed', { reason: 'x' })],
      [
        result('a', 'not run', { run: '' }),
        result('b', 'failed', { reason: 'y', ...later }),
        result('c', 'passed', later),
      ],
    ),
    [result('a', 'passed'), result('b', 'failed', { reason: 'y', ...later }), result('c', 'passed', later)],
  );
});

test('the document counts the results, and gives them back as they were', () => {
  const results = [
    result('a', 'passed'),
    result('b', 'failed', { reason: 'no `x` | y' }),
    result('c', 'not run', { run: '' }),
    result('d `e`', 'not run', { run: '' }),
  ];
  const document = withResults(withResults(EMPTY, []), results);
  assert.match(
    document,
    /^Text\.\n[\s\S]*\*\*1 of 4 specs passed\*\*, 1 failed, 2 did not run\. Commits in these runs: 1\.[\s\S]*\nMore\.\n$/,
  );
  assert.deepEqual(readDocument(document), results);
  assert.equal(withResults(document, readDocument(document)), document);
});

test('a document without the place of the results is refused', () => {
  assert.throws(() => withResults('Text.\n', []), /needs the lines/);
});

test('the node suite has all its specs, those of Conformance too', () => {
  const text = report(spec('a [Conformance]', 'passed'), spec('f', 'passed'));
  assert.deepEqual(
    readReport(text, 'abcdef01', nodeConformance).map(({ name }) => name),
    ['[sig-x] Group a [Conformance]', '[sig-x] Group f'],
  );
});

for (const [suite, specs] of [
  [conformance, 446],
  [nodeConformance, 1193],
] as const)
  test(`${suite.file} has a result of every spec that release 1.36 has`, () => {
    const document = readFileSync(path.join(import.meta.dirname, '..', suite.file), 'utf8');
    const results = readDocument(document);
    assert.equal(results.length, specs);
    assert.equal(withResults(document, results), document);
    assert.deepEqual(
      results.filter(({ state, reason }) => state === 'failed' && reason === ''),
      [],
    );
  });
