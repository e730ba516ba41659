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

test('an exit record is final: no later answer changes its code or its times', () => {
  for (const state of ['created', 'running', 'unknown'] as const)
    assert.equal(mergeContainer(exited, container({ state }), true), exited);
  assert.equal(
    mergeContainer(exited, container({ state: 'exited', finishedAtMs: 20, exitCode: 255, reason: 'Unknown' }), true),
    exited,
  );
});

test('an OOM kill is added to an exit record', () => {
  const learned = mergeContainer(exited, { ...exited, reason: 'OOMKilled' }, true);
  assert.deepEqual([learned.reason, learned.exitCode, learned.finishedAtMs], ['OOMKilled', 3, 9]);
  assert.equal(mergeContainer(learned, exited, true).reason, 'OOMKilled');
  assert.equal(
    mergeContainer({ ...exited, message: 'last words' }, { ...exited, reason: 'OOMKilled' }, true).message,
    'last words',
  );
});

test('the message, which no event contains, is added to an exit record once', () => {
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

test('whatever the order of observations, a state never goes back and the first exit is kept', () => {
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

test('a reading removes what it does not show, but not what was observed after it began', () => {
  const pod = record();
  pod.upsertContainer(container({ id: 'old' }), 1);
  pod.upsertContainer(container({ id: 'new' }), 5);
  pod.applyReading({ name: '', namespace: '', sandboxes: [], containers: [] }, 3);
  assert.deepEqual(
    pod.settle(0).after.containers.map((item) => item.id),
    ['new'],
  );
});

test('a reading begun before a removal does not restore the removed container, one begun after it does', () => {
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

test('an older reading does not undo a newer state of a sandbox', () => {
  const pod = record();
  pod.upsertSandbox(sandbox({ ready: false }), 5);
  pod.upsertSandbox(sandbox({ ready: true }), 4);
  assert.equal(pod.sandbox('s1')?.ready, false);
});

test('a snapshot adds containers and advances states, and never removes or reverts them', () => {
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

test('unchanged pods keep their arrays', () => {
  const pod = record();
  pod.upsertContainer(container(), 1);
  const first = pod.settle(1).after;
  pod.upsertContainer(container(), 2);
  const second = pod.settle(2);
  assert.deepEqual([second.changed, second.after.observedAtMs], [false, 2]);
  assert.equal(second.after.containers, first.containers);
});

test('a container created late by an aborted call does not hide the running one', () => {
  const pod = record();
  pod.upsertContainer(container({ id: 'late', attempt: 4, state: 'created' }), 1);
  pod.upsertContainer(container({ id: 'runs', attempt: 0 }), 2);
  assert.deepEqual(
    pod.settle(0).after.containers.map(({ id }) => id),
    ['runs', 'late'],
  );
});

test('missing details of an exit are added: the message, and the OOM kill', () => {
  const merge = (known: object, seen: object): ContainerRuntimeStatus =>
    mergeContainer({ ...exited, ...known }, { ...exited, ...seen }, true);
  assert.equal(merge({}, { message: 'bye' }).message, 'bye');
  assert.equal(merge({ message: 'first' }, { message: 'second' }).message, 'first');
  const killed = merge({ message: 'first' }, { reason: 'OOMKilled' });
  assert.deepEqual([killed.reason, killed.message], ['OOMKilled', 'first']);
  assert.equal(merge({ message: 'first' }, { reason: 'OOMKilled', message: 'second' }).message, 'second');
  const same = { ...exited, reason: 'OOMKilled', message: 'first' };
  assert.equal(mergeContainer(same, { ...same, message: 'second' }, true), same);
  assert.equal(mergeContainer(exited, { ...exited }, true), exited);
});

test('an exit without a time, and a running container, are completed by later observations', () => {
  const timeless = container({ state: 'exited' });
  assert.equal(mergeContainer(timeless, exited, true), exited);
  assert.equal(mergeContainer(timeless, exited, false), timeless, 'an older answer says nothing new');
  const odd = container({ finishedAtMs: 5 });
  assert.equal(mergeContainer(odd, exited, false), exited);
  assert.equal(mergeContainer(exited, container(), true), exited);
  assert.equal(mergeContainer(container(), container({ state: 'created' }), true).state, 'running');
});

test('an answer that does not name the sandbox keeps the one that is known', () => {
  const merged = mergeContainer(container(), { ...exited, sandboxId: sandboxId('') }, true);
  assert.deepEqual([merged.state, merged.sandboxId], ['exited', 's1']);
  const moved = mergeContainer(container(), { ...exited, sandboxId: sandboxId('s2') }, true);
  assert.equal(moved.sandboxId, 's2');
});

test('removals are remembered up to a limit, and refute what was seen before them', () => {
  const removals = new Removals(2);
  for (const [index, id] of ['a', 'b', 'c'].entries()) removals.add(id, 10 + index);
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => removals.has(id)),
    [false, true, true],
  );
  assert.deepEqual([removals.refutes('b', 11), removals.refutes('b', 12), removals.has('b')], [true, false, false]);
  assert.equal(removals.refutes('unknown', 1), false);
});

test('a record keeps its names when a reading has none, and accepts new ones', () => {
  const pod = record();
  const reading = { name: '', namespace: '', sandboxes: [sandbox()], containers: [] };
  pod.applyReading(reading, 1);
  const named = (): string[] => {
    const { after } = pod.settle(0);
    return [after.name, after.namespace];
  };
  assert.deepEqual(named(), ['p', 'n']);
  pod.applyReading({ ...reading, name: 'q', namespace: 'm' }, 2);
  assert.deepEqual(named(), ['q', 'm']);
  assert.deepEqual([pod.has('s1'), pod.has('c1'), pod.isEmpty], [true, false, false]);
});

test("an event with the pod's state adds to the record and reverts nothing", () => {
  const pod = record();
  pod.applySnapshot(sandbox(), [container()], 1);
  assert.deepEqual([pod.sandbox('s1')?.ready, pod.container('c1')?.state], [true, 'running']);
  pod.applySnapshot(sandbox({ ready: false }), [exited], 2);
  assert.deepEqual([pod.sandbox('s1')?.ready, pod.container('c1')?.state], [false, 'exited']);
  pod.applySnapshot(sandbox(), [], 3);
  assert.deepEqual([pod.sandbox('s1')?.ready, pod.container('c1')?.state], [false, 'exited']);
  for (const id of ['s1', 'c1']) pod.remove(id, 4);
  pod.applySnapshot(sandbox(), [container()], 5);
  assert.equal(pod.isEmpty, true, 'what was removed does not come back by an event');
});

test('the later of two observations of one container is used', () => {
  const pod = record();
  pod.upsertContainer(container({ message: 'late' }), 5);
  pod.upsertContainer(container({ message: 'early' }), 4);
  assert.equal(pod.container('c1')?.message, 'late');
  pod.upsertContainer(container({ message: 'as late' }), 5);
  assert.equal(pod.container('c1')?.message, 'as late');
  pod.upsertSandbox(sandbox({ ips: ['10.0.0.2'] }), 5);
  pod.upsertSandbox(sandbox({ ips: ['10.0.0.3'] }), 5);
  assert.deepEqual(pod.sandbox('s1')?.ips, ['10.0.0.3']);
  pod.applyReading({ name: 'p', namespace: 'n', sandboxes: [], containers: [] }, 5);
  assert.equal(pod.isEmpty, true);
});

test('runs are sorted: running ones first, then by attempt, creation time and id', () => {
  const pod = record();
  const runs = [
    container({ id: 'old', attempt: 1, state: 'created' }),
    container({ id: 'late', attempt: 2, state: 'created', createdAtMs: 9 }),
    container({ id: 'a', attempt: 2, state: 'created', createdAtMs: 5 }),
    container({ id: 'b', attempt: 2, state: 'created', createdAtMs: 5 }),
    container({ id: 'runs', attempt: 0 }),
  ];
  for (const run of runs) pod.upsertContainer(run, 1);
  assert.deepEqual(
    pod.settle(0).after.containers.map(({ id }) => id),
    ['runs', 'late', 'b', 'a', 'old'],
  );
  assert.equal(pod.settle(0).changed, false);
});
