import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { longFiles, longestFirst } from './long-tests.ts';

test('files that take long run first, longest first, and the others by their names', () => {
  const [longest = '', long = ''] = longFiles;
  assert.deepEqual(longestFirst(['b', long, 'a', longest]), [longest, long, 'a', 'b']);
});

test('each file that is to run first exists', () => {
  assert.deepEqual(
    longFiles.filter((file) => !existsSync(path.join(import.meta.dirname, '..', file))),
    [],
  );
});
