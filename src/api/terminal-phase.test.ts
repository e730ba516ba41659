import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isTerminalPhase, isTerminalPod } from './pod.ts';
import { buildPod } from './testing/pod-builder.ts';

it('a pod has ended when it succeeded or failed, and not while its phase is anything else', () => {
  const phases = ['Failed', 'Succeeded', 'Pending', 'Running', 'Unknown', undefined] as const;
  const expected = [true, true, false, false, false, false];
  assert.deepEqual(phases.map(isTerminalPhase), expected);
  assert.deepEqual(
    phases.map((phase) => isTerminalPod(buildPod({ 'status.phase': phase }))),
    expected,
  );
});
