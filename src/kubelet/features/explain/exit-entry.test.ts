import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { computeExitEntry } from './exit-entry.ts';

const ended = (exitCode: number, reason: string) =>
  computeExitEntry({ name: 'web', exitCode, reason } as ContainerRuntimeStatus);

test('the timeline shows how a container ended, and marks all but success', () => {
  assert.deepEqual(ended(0, 'Completed'), {
    kind: 'status',
    type: 'Normal',
    reason: 'exited',
    message: 'Container web ended: exit code 0 (Completed).',
  });
  assert.deepEqual(ended(137, 'OOMKilled'), {
    kind: 'status',
    type: 'Warning',
    reason: 'exited',
    message: 'Container web ended: exit code 137 (OOMKilled).',
  });
  assert.equal(ended(1, '').message, 'Container web ended: exit code 1.');
});
