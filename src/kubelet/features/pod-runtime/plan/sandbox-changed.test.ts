import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPod, aSandbox, aStatus } from '../testing/builders.ts';
import { needsNewSandbox } from './sandbox-changed.ts';

test('a pod needs a new sandbox when it has none, or one that is not ready', () => {
  assert.equal(needsNewSandbox(aPod(), aStatus([], [])), true);
  assert.equal(needsNewSandbox(aPod(), aStatus([], [aSandbox({ ready: false })])), true);
  assert.equal(needsNewSandbox(aPod(), aStatus([])), false);
});
