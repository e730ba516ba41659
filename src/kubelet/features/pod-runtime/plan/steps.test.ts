import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerId } from '../../../model/ids.ts';
import { describeStep } from './steps.ts';

test('each step reads as one sentence', () => {
  assert.deepEqual(
    [
      describeStep({ kind: 'createSandbox', attempt: 0, reason: 'new-pod' }),
      describeStep({ kind: 'killPod', reason: 'sandbox-changed', graceMs: 30_000 }),
      describeStep({ kind: 'killPod', reason: 'nothing-to-run', graceMs: 30_000 }),
      describeStep({ kind: 'startContainer', name: 'web', role: 'regular', attempt: 0 }),
      describeStep({ kind: 'startContainer', name: 'proxy', role: 'sidecar', attempt: 2 }),
      describeStep({
        kind: 'killContainer',
        id: containerId('c'),
        name: 'web',
        reason: 'LivenessProbe',
        message: 'Container web failed liveness probe',
      }),
      describeStep({
        kind: 'removeContainer',
        id: containerId('0123456789abcdef'),
        name: 'init',
        reason: 'prune',
        keepLogs: false,
      }),
    ],
    [
      'Create sandbox number 0, because the pod has none.',
      'Stop all containers and the sandbox within 30 s, because the sandbox must be made anew.',
      'Stop the sandbox within 30 s, because no container of the pod is left to run.',
      'Start container web.',
      'Start sidecar proxy again (restart 2).',
      'Kill container web: Container web failed liveness probe.',
      'Remove the ended container init (0123456789ab), because a newer run of the same init container exists.',
    ],
  );
});
