import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ContainerState, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import { mergeContainer, PodRecord, Removals } from './pod-record.ts';

function container(
  overrides: Partial<Omit<ContainerRuntimeStatus, 'id'>> & { id?: string } = {},
): ContainerRuntimeStatus {
  const { id = 'c1', ...rest } = overrides;
  return {
    id: containerId(id),
    sandboxId: sandboxId('s1'),
    name: 'main',
    attempt: 0,
    state: 'running',
    createdAtMs: 1,
    startedAtMs: 2,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: 'app',
    imageRef: 'sha256:1',
    imageId: 'sha256:1',
    logPath: '',
    labels: {},
    annotations: {},
    ...rest,
  };
}

function sandbox(overrides: Partial<SandboxRuntimeStatus> = {}): SandboxRuntimeStatus {
  return {
    id: sandboxId('s1'),
    podUid: podUid('u'),
    podName: 'p',
    podNamespace: 'n',
    attempt: 0,
    ready: true,
    createdAtMs: 1,
    ips: ['10.0.0.1'],
    hostNetwork: false,
    runtimeHandler: '',
    labels: {},
    annotations: {},
    ...overrides,
  };
}

const record = (): PodRecord => new PodRecord(podUid('u'), { name: 'p', namespace: 'n' }, new Removals(100));
const exited = container({ state: 'exited', finishedAtMs: 9, exitCode: 3, reason: 'Error' });

test('an exit record is written once: no later answer changes its code or its times', () => {
  for (const state of ['created', 'running', 'unknown'] as const)
    assert.equal(mergeContainer(exited, container({ state }), true), exited);
  assert.equal(
    mergeContainer(exited, container({ state: 'exited', finishedAtMs: 20, exitCode: 255, reason: 'Unknown' }), true),
    exited,
  );
});

test('an exit record learns that the exit was an OOM kill', () => {
  const learned = mergeContainer(exited, { ...exited, reason: 'OOMKilled' }, true);
  assert.deepEqual([learned.reason, learned.exitCode, learned.finishedAtMs], ['OOMKilled', 3, 9]);
  assert.equal(mergeContainer(learned, exited, true).reason, 'OOMKilled');
  assert.equal(
    mergeContainer({ ...exited, message: 'last words' }, { ...exited, reason: 'OOMKilled' }, true).message,
    'last words',
  );
});

test('an exit record learns its message once, which no event carries', () => {
  const learned = mergeContainer(exited, { ...exited, message: 'the end' }, true);
  assert.deepEqual(learned, { ...exited, message: 'the end' });
  assert.equal(mergeContainer(learned, { ...exited, message: '' }, true), learned);
  assert.equal(mergeContainer(learned, { ...exited, message: 'another' }, true), learned);
  assert.equal(mergeContainer(exited, { ...exited, finishedAtMs: 20, message: 'of another exit' }, true), exited);
});

test('an unknown container may turn out running or exited', () => {
  const unknown = container({ state: 'unknown' });
  assert.equal(mergeContainer(unknown, container(), true).state, 'running');
  assert.equal(mergeContainer(unknown, exited, false).state, 'exited');
  assert.equal(mergeContainer(container(), unknown, false).state, 'running');
  assert.equal(mergeContainer(container(), unknown, true).state, 'unknown');
});

test('whatever the order of observations, a container never goes back and its first exit stays', () => {
  const state = fc.constantFrom<ContainerState>('created', 'running', 'exited', 'unknown');
  const observation = fc.record({
    state,
    code: fc.integer({ min: 0, max: 255 }),
    at: fc.integer({ min: 1, max: 50 }),
    newer: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(observation, { minLength: 1, maxLength: 12 }), (observations) => {
      let known = container({ state: 'created' });
      let first: ContainerRuntimeStatus | undefined;
      for (const { state: seen, code, at, newer } of observations) {
        known = mergeContainer(
          known,
          container({ state: seen, exitCode: seen === 'exited' ? code : 0, finishedAtMs: seen === 'exited' ? at : 0 }),
          newer,
        );
        if (known.state === 'exited') first ??= known;
        if (first !== undefined)
          assert.deepEqual(
            [known.state, known.exitCode, known.finishedAtMs],
            ['exited', first.exitCode, first.finishedAtMs],
          );
      }
    }),
  );
});

test('a reading removes what it does not show, but not what was learnt after it began', () => {
  const pod = record();
  pod.upsertContainer(container({ id: 'old' }), 1);
  pod.upsertContainer(container({ id: 'new' }), 5);
  pod.applyReading({ name: '', namespace: '', sandboxes: [], containers: [] }, 3);
  assert.deepEqual(
    pod.settle(0).after.containers.map((item) => item.id),
    ['new'],
  );
});

test('a reading begun before a removal does not bring the removed back, one begun after it does', () => {
  const pod = record();
  pod.upsertSandbox(sandbox(), 1);
  pod.upsertContainer(container(), 1);
  pod.remove('c1', 5);
  const reading = { name: 'p', namespace: 'n', sandboxes: [sandbox()], containers: [container()] };
  pod.applyReading(reading, 4);
  assert.deepEqual(pod.settle(0).after.containers, []);
  pod.applyReading(reading, 6);
  assert.equal(pod.settle(0).after.containers.length, 1);
});

test('an older reading does not undo what is known of a sandbox', () => {
  const pod = record();
  pod.upsertSandbox(sandbox({ ready: false }), 5);
  pod.upsertSandbox(sandbox({ ready: true }), 4);
  assert.equal(pod.sandbox('s1')?.ready, false);
});

test('a snapshot adds and moves forward, and never takes away or goes back', () => {
  const pod = record();
  pod.upsertSandbox(sandbox({ ready: false }), 1);
  pod.upsertContainer(exited, 1);
  pod.upsertContainer(container({ id: 'c2' }), 1);
  pod.applySnapshot(sandbox({ ready: true }), [container(), container({ id: 'c3' })], 2);
  const { after } = pod.settle(0);
  assert.deepEqual(
    [after.sandboxes[0]?.ready, after.containers.map((item) => `${item.id} ${item.state}`).sort()],
    [false, ['c1 exited', 'c2 running', 'c3 running']],
  );
  pod.applySnapshot(sandbox(), [{ ...exited, id: containerId('c2') }], 3);
  assert.equal(pod.container('c2')?.state, 'exited');
});

test('the newest attempt comes first even when the wall clock was set back', () => {
  const pod = record();
  pod.upsertContainer(container({ id: 'a', attempt: 0, createdAtMs: 9000 }), 1);
  pod.upsertContainer(container({ id: 'b', attempt: 1, createdAtMs: 10 }), 1);
  assert.deepEqual(
    pod.settle(0).after.containers.map((item) => item.attempt),
    [1, 0],
  );
});

test('what has not changed keeps its arrays', () => {
  const pod = record();
  pod.upsertContainer(container(), 1);
  const first = pod.settle(1).after;
  pod.upsertContainer(container(), 2);
  const second = pod.settle(2);
  assert.deepEqual([second.changed, second.after.observedAtMs], [false, 2]);
  assert.equal(second.after.containers, first.containers);
});

test('a container created late by a call that was given up does not hide the one that runs in its place', () => {
  const pod = record();
  pod.upsertContainer(container({ id: 'late', attempt: 4, state: 'created' }), 1);
  pod.upsertContainer(container({ id: 'runs', attempt: 0 }), 2);
  assert.deepEqual(
    pod.settle(0).after.containers.map(({ id }) => id),
    ['runs', 'late'],
  );
});
