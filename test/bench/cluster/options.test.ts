import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';

test('rows are named, one or several, and others refused', () => {
  assert.deepEqual(parseOptions(['--only', 'start,exit', '--only', 'steady'])?.only, ['start', 'exit', 'steady']);
  assert.throws(() => parseOptions(['--only', 'nothing']), /there is no row "nothing", there are: start, delete/);
  assert.throws(() => parseOptions(['--samples', '0']), /not a whole number/);
  assert.equal(parseOptions(['--help']), undefined);
});

test('only a whole run of this kubelet in an embedded cluster goes into the documents', () => {
  assert.equal(parseOptions(['--write'])?.write, true);
  for (const other of [['--quick'], ['--managers'], ['--only', 'start'], ['--kubelet', '/k'], ['--kubeconfig', '/f']])
    assert.throws(() => parseOptions(['--write', ...other]), /whole run/);
});

test('credentials of a node belong to an API server that is given', () => {
  assert.throws(() => parseOptions(['--node-kubeconfig', '/n']), /beside --kubeconfig/);
  assert.equal(parseOptions(['--kubeconfig', '/f', '--node-kubeconfig', '/n'])?.nodeKubeconfig, '/n');
});
