import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { cleanupDecision } from './create-container-gc.ts';

const decide = (state: { phase: string; isBusy?: boolean } | undefined): string =>
  cleanupDecision({ stateOf: () => state, isBusy: () => state?.isBusy === true }, podUid('a'));

test('the remains of a pod without a worker go, those of a pod that is being worked on are left alone', () => {
  assert.equal(decide(undefined), 'removed');
  assert.equal(decide({ phase: 'syncing' }), 'kept');
  assert.equal(decide({ phase: 'finished' }), 'kept');
  assert.equal(decide({ phase: 'syncing', isBusy: true }), 'busy');
  assert.equal(decide({ phase: 'terminating' }), 'busy', 'between two attempts to stop it');
});
