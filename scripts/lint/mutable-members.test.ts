import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { findMutableMembers } from './mutable-members.ts';

/** The lines the rule finds, with the types of that text alone. */
function linesOf(text: string): readonly number[] {
  const options = { noLib: true, target: 'esnext', types: [] };
  const files = {
    '/checked/tsconfig.json': JSON.stringify({ compilerOptions: options, files: ['checked.ts'] }),
    '/checked/checked.ts': text,
  };
  const findings = findMutableMembers('/checked/tsconfig.json', () => true, createVirtualFileSystem(files));
  return findings.map(({ line }) => line);
}

test('lint finds members of interfaces that no code assigns and that are not readonly', () => {
  const text = [
    'interface State {',
    '  name: string;',
    '  readonly kind: string;',
    '  onChange?: () => void;',
    '  method(): void;',
    '}',
    'export const nameOf = (state: State): string => (state.name === "" ? state.kind : state.name);',
    'export class Holder implements State {',
    '  name = "";',
    '  kind = "";',
    '  method(): void { this.name = "set"; }',
    '}',
  ].join('\n');
  assert.deepEqual(linesOf(text), [2, 4]);
});

test('lint accepts members that code assigns, counts, deletes or fills from a pattern', () => {
  const text = [
    'interface State { a: number; b: number; c?: number; d: number; e: number; f: number; g: number }',
    'export function change(state: State, values: number[]): void {',
    '  state.a = 1;',
    '  state.b++;',
    '  delete state.c;',
    '  [state.d, ...values] = values;',
    '  ({ length: state.e } = values);',
    '  state["f"] += 1;',
    '  for (state.g of values) continue;',
    '}',
  ].join('\n');
  assert.deepEqual(linesOf(text), []);
});
