import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folderPrefix } from './folder-path.ts';

test('the start of longer paths has no slash at its end', () => {
  const ends = ['/', '//', '/var/lib', '/var/lib/', '/var//lib///', ''].map(folderPrefix);
  assert.deepEqual(ends, ['', '', '/var/lib', '/var/lib', '/var//lib', '']);
});
