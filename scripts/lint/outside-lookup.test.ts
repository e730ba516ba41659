import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { findOutsideLookups } from './outside-lookup.ts';

/** The lines the rule finds, with the types of that text alone. */
function linesOf(text: string): readonly number[] {
  const options = { noLib: true, target: 'esnext', types: [] };
  const files = {
    '/checked/tsconfig.json': JSON.stringify({ compilerOptions: options, files: ['checked.ts'] }),
    '/checked/checked.ts': text,
  };
  const findings = findOutsideLookups('/checked/tsconfig.json', () => true, createVirtualFileSystem(files));
  return findings.map(({ line }) => line);
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
