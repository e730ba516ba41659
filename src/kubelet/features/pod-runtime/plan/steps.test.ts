import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerId } from '../../../model/ids.ts';
import { describeStep, resizeKey } from './steps.ts';

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
      'Stop all containers and the sandbox within 30 s, because the sandbox must be created again.',
      'Stop the sandbox within 30 s, because no container of the pod is left to run.',
      'Start container web.',
      'Start sidecar proxy again (restart 2).',
      'Kill container web: Container web failed liveness probe.',
      'Remove the ended container init (0123456789ab), because a newer run of the same init container exists.',
    ],
  );
});

test('a kill with its own grace names it, and a resize names its target', () => {
  const kill = {
    kind: 'killContainer',
    id: containerId('c'),
    name: 'web',
    reason: 'Unknown',
    message: 'gone',
  } as const;
  assert.deepEqual(
    [
      describeStep({ ...kill, graceMs: 1500 }),
      describeStep({ kind: 'resizePod', resource: 'cpu', phase: 'raise', lowered: [] }),
      describeStep({ kind: 'resizePod', resource: 'memory', phase: 'lower', lowered: [] }),
      describeStep({ kind: 'resizeContainer', id: containerId('c'), name: 'web', resource: 'cpu' }),
    ].map((text) => text.split(' ').slice(0, 6).join(' ')),
    [
      'Kill container web within 2 s:',
      "Raise the CPU of the pod's",
      "Lower the memory of the pod's",
      'Give container web its new CPU,',
    ],
  );
});

test('each part of a resize has its own key', () => {
  const pod = { kind: 'resizePod', resource: 'cpu', phase: 'raise', lowered: [] } as const;
  const container = { kind: 'resizeContainer', id: containerId('c'), name: 'web', resource: 'cpu' } as const;
  const keys = [
    pod,
    { ...pod, phase: 'lower' as const },
    { ...pod, resource: 'memory' as const },
    container,
    { ...container, id: containerId('d') },
    { ...container, resource: 'memory' as const },
  ].map((step) => resizeKey(step));
  assert.equal(new Set(keys).size, keys.length);
});
