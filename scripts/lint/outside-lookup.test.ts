import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Linter } from 'eslint';
import ts from 'typescript';
import tseslint from 'typescript-eslint';
import { outsideLookup } from './outside-lookup.ts';

const file = 'checked.ts';

/** The lines the rule finds, with the types of that text alone. */
function linesOf(text: string): readonly number[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const host: ts.CompilerHost = {
    getSourceFile: (name) => (name === file ? source : undefined),
    fileExists: (name) => name === file,
    readFile: () => undefined,
    writeFile: () => undefined,
    getDefaultLibFileName: () => '',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
  };
  const program = ts.createProgram([file], { noLib: true, target: ts.ScriptTarget.ESNext }, host);
  const config = {
    files: ['**/*.ts'],
    languageOptions: { parser: tseslint.parser as Linter.Parser, parserOptions: { programs: [program] } },
    plugins: { local: { rules: { 'outside-lookup': outsideLookup } } },
    rules: { 'local/outside-lookup': 'error' as const },
  };
  return new Linter().verify(text, config, file).map(({ line }) => line);
}

test('lint finds tables that are indexed with strings and inherit from Object', () => {
  const text = [
    'interface Table { readonly [name: string]: number }',
    'declare function lookupTable(entries: Table): Table;',
    'const plain: Table = { a: 1 };',
    'const safe: Table = lookupTable({ a: 1 });',
    'const known = { a: 1, b: 2 } as const;',
    'export const found = (name: string): unknown => plain[name];',
    'export const isIn = (name: string): boolean => name in plain;',
    'export const fine = (name: string): unknown => safe[name];',
    "export const total = (name: 'a' | 'b'): unknown => known[name];",
    "export const literal = plain['a'];",
    'export const given = (record: Table, name: string): unknown => record[name];',
  ].join('\n');
  assert.deepEqual(linesOf(text), [6, 7]);
});
