import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonToIgnore } from './ignored-mutants.ts';

const member = (object: object, property: string): object => ({
  type: 'MemberExpression',
  object,
  property: { type: 'Identifier', name: property },
});
const name = (text: string): object => ({ type: 'Identifier', name: text });
const isIgnored = (node: object, parent?: object): boolean =>
  reasonToIgnore({ node, parent } as Parameters<typeof reasonToIgnore>[0]) !== undefined;
const call = (callee: object): object => ({ type: 'CallExpression', callee });

test('calls of the log are left alone, whatever holds it, and no other calls', () => {
  const privateLog = member({ type: 'ThisExpression' }, 'x');
  const ownLog = { ...privateLog, property: { type: 'PrivateName', id: name('log') } };
  assert.equal(isIgnored(call(member(name('log'), 'info'))), true);
  assert.equal(isIgnored(call(member(member(name('deps'), 'log'), 'warn'))), true);
  assert.equal(isIgnored(call(member(ownLog, 'error'))), true);
  assert.equal(isIgnored(call(member(name('log'), 'push'))), false);
  assert.equal(isIgnored(call(member(name('events'), 'error'))), false);
});

test('a case that cannot occur is left alone, and no other case', () => {
  const answer = [{ type: 'ReturnStatement', argument: call(name('unreachable')) }];
  assert.equal(isIgnored({ type: 'SwitchCase', test: null, consequent: answer }), true);
  assert.equal(isIgnored({ type: 'SwitchCase', test: name('kind'), consequent: answer }), false);
  assert.equal(isIgnored({ type: 'SwitchCase', test: null, consequent: [] }), false);
});

test('an empty list in the place of an absent one is left alone, and no other list', () => {
  const empty = { type: 'ArrayExpression', elements: [] };
  assert.equal(isIgnored(empty, { type: 'LogicalExpression', operator: '??' }), true);
  assert.equal(isIgnored(empty, { type: 'ReturnStatement' }), false);
  assert.equal(isIgnored({ ...empty, elements: [1] }, { type: 'LogicalExpression', operator: '??' }), false);
});
