import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';

test('stages are named, one or several, and others refused', () => {
  assert.deepEqual(parseOptions(['--only', 'pods,disk', '--only', 'etcd'])?.only, ['pods', 'disk', 'etcd']);
  assert.throws(() => parseOptions(['--only', 'nothing']), /there is no stage "nothing", there are: sqlite, etcd/);
  assert.equal(parseOptions(['--help']), undefined);
});

test('only a whole run goes into the documents', () => {
  assert.equal(parseOptions(['--write'])?.write, true);
  assert.throws(() => parseOptions(['--write', '--quick']), /whole run/);
  assert.throws(() => parseOptions(['--write', '--only', 'pods']), /whole run/);
});
