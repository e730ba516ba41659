import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCircles, findUnusedExports, strayFunctions } from './check-layers.ts';

const circlesOf = (imports: Record<string, readonly string[]>): string[][] =>
  findCircles(new Map(Object.entries(imports)));

describe('import circles', () => {
  it('are none in a tree, and none where two files lead to a third', () => {
    assert.deepEqual(circlesOf({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }), []);
  });

  it('are found between two files and along a longer way', () => {
    assert.deepEqual(circlesOf({ a: ['b'], b: ['a'] }), [['a', 'b']]);
    assert.deepEqual(circlesOf({ start: ['c'], c: ['b'], b: ['a'], a: ['c', 'end'], end: [] }), [['a', 'b', 'c']]);
  });

  it('are distinguished, and joined where they share a file', () => {
    assert.deepEqual(circlesOf({ a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] }), [
      ['c', 'd'],
      ['a', 'b'],
    ]);
    assert.deepEqual(circlesOf({ a: ['b'], b: ['a', 'c'], c: ['b'] }), [['a', 'b', 'c']]);
  });

  it('do not run through files that are not known', () => {
    assert.deepEqual(circlesOf({ a: ['elsewhere'], b: ['a'] }), []);
  });
});

describe('the composition root', () => {
  it('may declare types, values and functions that compose', () => {
    const source = [
      'export interface Parts {\n  post: () => void;\n}',
      'const PERIOD_MS = 30_000;',
      'export const rules: Rules = { isOver, isLive: (pod) => true };',
      'export function composeThis(): void {\n  const inner = (): void => undefined;\n}',
      'async function composeThat() {}',
      'const composeMore = (): void => undefined;',
    ].join('\n');
    assert.deepEqual(strayFunctions(source), []);
  });

  it('may declare no other function, arrow or class', () => {
    const source = [
      'function isLive() {}',
      'export async function openRecords() {}',
      'function* running() {}',
      'class Late {}',
      'const isOver = (uid: string): boolean => uid !== "";',
      'export const first = async (a: string) => a;',
      'const named: Named = (value) =>\n  value;',
    ].join('\n');
    assert.deepEqual(strayFunctions(source), ['isLive', 'openRecords', 'running', 'Late', 'isOver', 'first', 'named']);
  });
});

describe('exported functions, classes and constants', () => {
  const exporter =
    'export function a() {}\nexport const b = 1;\nexport class C {}\nexport interface D {}\nfunction e() {}\n';
  const unused = (...importers: string[]): string[] =>
    findUnusedExports(
      new Map([['src/x/y.ts', exporter]]),
      new Map(importers.map((source, index) => [`test/${index}.ts`, source])),
    );

  it('are imported somewhere', () => {
    assert.deepEqual(unused(), ['src/x/y.ts: a', 'src/x/y.ts: b', 'src/x/y.ts: C']);
    assert.deepEqual(unused("import {\n  a as other,\n  b,\n} from '../src/x/y.ts';"), ['src/x/y.ts: C']);
    assert.deepEqual(unused("import { a, C } from '../src/x/z.ts';", "export { b } from '../src/x/y.ts';").length, 2);
  });

  it('count as imported where the whole file is', () => {
    assert.deepEqual(unused("const { a } = await import('../src/x/y.ts');"), []);
    assert.deepEqual(unused("import * as all from '../src/x/y.ts';"), []);
  });
});
