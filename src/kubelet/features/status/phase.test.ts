import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { ContainerState, ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PhaseFacts } from './phase.ts';
import { computePhase } from './phase.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'x', ...more });
const side = container('side', { restartPolicy: 'Always' });
const podOf = (...initContainers: Container[]): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u1' },
  spec: { containers: [container('web'), container('log')], initContainers, restartPolicy: 'Never' },
});
const RUNNING: ContainerState = { running: {} };
const WAITING: ContainerState = { waiting: { reason: 'ContainerCreating' } };
const ended = (exitCode: number, reason = 'Completed'): ContainerState => ({ terminated: { exitCode, reason } });

function phase(
  pod: Pod,
  states: Readonly<Record<string, ContainerState | Partial<ContainerStatus>>>,
  more: Partial<PhaseFacts> = {},
): string {
  const statuses = Object.entries(states).map(([name, state]) => {
    const fields = 'state' in state || 'started' in state ? state : { state };
    return { name, image: 'x', imageID: '', ready: false, restartCount: 0, ...fields } as ContainerStatus;
  });
  return computePhase({
    pod,
    statuses,
    isTerminal: false,
    isGivenUp: false,
    hasInitialized: false,
    rules: {
      shouldBeStarted: () => true,
      restartsAfterExit: (_pod, { restartPolicy }, code) => restartPolicy === 'Always' || code === 99,
      isDefinitionChanged: () => false,
      shouldRestartAllContainers: () => false,
      needsNewSandbox: () => false,
      isGivenUp: () => false,
    },
    ...more,
  });
}

test('a pod is pending while a container waits or is not known', () => {
  const pod = podOf();
  assert.equal(phase(pod, { web: RUNNING, log: WAITING }), 'Pending');
  assert.equal(phase(pod, { web: RUNNING }), 'Pending');
  assert.equal(phase(pod, { web: RUNNING, log: {} }), 'Pending', 'a status without a state says nothing');
  assert.equal(phase(pod, { web: ended(0) }), 'Pending');
  assert.equal(phase(pod, {}), 'Pending');
});

test('a pod runs while one container runs, and succeeds when all containers succeed', () => {
  const pod = podOf();
  assert.equal(phase(pod, { web: RUNNING, log: ended(1) }), 'Running');
  assert.equal(phase(pod, { web: ended(0), log: ended(0) }), 'Succeeded');
  assert.equal(phase(pod, { web: ended(0), log: ended(1) }), 'Failed');
});

test('a container that will restart keeps the pod running, even during its back-off', () => {
  const pod = podOf();
  assert.equal(phase(pod, { web: ended(0), log: ended(99) }), 'Running');
  const waitsAgain = { state: WAITING, lastState: ended(99) };
  assert.equal(phase(pod, { web: ended(0), log: waitsAgain }), 'Running');
  assert.equal(phase(pod, { web: ended(0), log: ended(99) }, { isTerminal: true }), 'Failed');
  assert.equal(phase(pod, { web: ended(0), log: ended(99) }, { isGivenUp: true }), 'Failed');
  const reset = ended(1, 'RestartingAllContainers');
  assert.equal(phase(pod, { web: reset, log: reset }), 'Running');
  assert.equal(phase(pod, { web: reset, log: reset }, { isGivenUp: true }), 'Failed');
});

test('an unfinished init container keeps the pod pending, and one that failed without a restart ends it', () => {
  const pod = podOf(container('init'));
  const both = { web: RUNNING, log: RUNNING };
  assert.equal(phase(pod, { ...both, init: RUNNING }), 'Pending');
  assert.equal(phase(pod, { ...both, init: WAITING }), 'Pending');
  assert.equal(phase(pod, both), 'Pending');
  assert.equal(phase(pod, { ...both, init: ended(0) }), 'Running');
  assert.equal(phase(pod, { ...both, init: ended(99) }), 'Running');
  assert.equal(phase(pod, { ...both, init: ended(1) }), 'Failed');
});

test('a sidecar keeps the pod pending until it has started, but not after the pod was initialized', () => {
  const pod = podOf(side);
  const both = { web: RUNNING, log: RUNNING };
  assert.equal(phase(pod, { ...both, side: { state: RUNNING, started: true } }), 'Running');
  assert.equal(phase(pod, { ...both, side: { state: RUNNING, started: false } }), 'Pending');
  assert.equal(phase(pod, { ...both, side: { state: RUNNING, started: false } }, { hasInitialized: true }), 'Running');
  assert.equal(phase(pod, { ...both, side: WAITING }, { hasInitialized: true }), 'Pending');
  assert.equal(phase(pod, both, { hasInitialized: true }), 'Pending', 'it is not known');
  assert.equal(phase(pod, { ...both, side: ended(1) }), 'Running');
});

test('a sidecar does not affect how the pod ended', () => {
  const pod = podOf(side);
  assert.equal(phase(pod, { web: ended(0), log: ended(0), side: ended(1) }), 'Succeeded');
  assert.equal(phase(pod, { web: ended(0), log: ended(0), side: { state: RUNNING, started: true } }), 'Running');
});
