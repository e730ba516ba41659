import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { PodUid } from '../../model/ids.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { CacheChange } from './runtime-cache.ts';
import { RuntimeCache } from './runtime-cache.ts';

const uid = podUid('u1');
const pod = { uid, name: 'web', namespace: 'default' };

function sandbox(changes: Partial<SandboxRuntimeStatus> = {}): SandboxRuntimeStatus {
  return {
    id: sandboxId('s1'),
    podUid: uid,
    podName: 'web',
    podNamespace: 'default',
    attempt: 0,
    ready: true,
    createdAtMs: 0,
    ips: [],
    hostNetwork: false,
    labels: {},
    annotations: {},
    runtimeHandler: '',
    ...changes,
  };
}

const container = (changes: Partial<ContainerRuntimeStatus> = {}): ContainerRuntimeStatus =>
  ({
    id: containerId('c1'),
    sandboxId: sandboxId('s1'),
    name: 'main',
    state: 'running',
    attempt: 0,
    createdAtMs: 0,
    startedAtMs: 1,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    annotations: {},
    ...changes,
  }) as ContainerRuntimeStatus;
const exited = (changes: Partial<ContainerRuntimeStatus> = {}): ContainerRuntimeStatus =>
  container({ state: 'exited', finishedAtMs: 5, exitCode: 3, reason: 'Error', ...changes });
const reading = (sandboxes: SandboxRuntimeStatus[], containers: ContainerRuntimeStatus[]) => ({
  name: 'web',
  namespace: 'default',
  sandboxes,
  containers,
});

function setUp() {
  const clock = new FakeClock();
  const cache = new RuntimeCache(clock);
  const changes: CacheChange[] = [];
  const stop = cache.onChange((change) => changes.push(change));
  const ids = (of: PodUid = uid): string[] =>
    [...(cache.get(of)?.sandboxes ?? []), ...(cache.get(of)?.containers ?? [])].map(({ id }) => id);
  return { clock, cache, changes, stop, ids };
}

describe('the cached state of a pod', () => {
  it('is undefined at first, and empty where a status is required', async () => {
    const { cache, clock } = setUp();
    await clock.advance(7);
    assert.deepEqual(
      [cache.get(uid), cache.podCount, [...cache.all()], cache.ownerOf('c1'), cache.container('c1')],
      [undefined, 0, [], undefined, undefined],
    );
    assert.deepEqual(cache.getOrEmpty(pod), { ...pod, sandboxes: [], containers: [], observedAtMs: 7 });
  });

  it("has the agent's own results and what it read", () => {
    const { cache, ids } = setUp();
    cache.noteSandbox(sandbox());
    cache.noteContainer(pod, container());
    assert.deepEqual([ids(), cache.podCount, [...cache.all()]], [['s1', 'c1'], 1, [cache.get(uid)]]);
    assert.deepEqual([cache.ownerOf('s1'), cache.ownerOf('c1')], [uid, uid]);
    assert.deepEqual([cache.sandbox('s1'), cache.container('c1')], [sandbox(), container()]);
    assert.equal(cache.getOrEmpty(pod), cache.get(uid));
    assert.deepEqual([cache.get(uid)?.name, cache.get(uid)?.namespace], ['web', 'default']);
  });

  it('does not restore removed containers, and forgets their owners', () => {
    const { cache, ids } = setUp();
    cache.noteSandbox(sandbox());
    cache.noteContainer(pod, container());
    cache.noteContainerRemoved(uid, containerId('c1'));
    assert.deepEqual([ids(), cache.ownerOf('c1'), cache.wasRemoved('c1')], [['s1'], undefined, true]);
    cache.noteContainer(pod, container());
    cache.noteSandboxRemoved(uid, sandboxId('s1'));
    cache.noteSandbox(sandbox());
    assert.deepEqual([cache.get(uid), cache.podCount, cache.wasRemoved('s1')], [undefined, 0, true]);
    cache.noteSandboxRemoved(podUid('other'), sandboxId('s9'));
    assert.deepEqual([cache.wasRemoved('s9'), cache.wasRemoved('s8')], [true, false]);
  });

  it('is replaced by full readings, a later one before an earlier one', () => {
    const { cache, ids } = setUp();
    const early = cache.beginObservation();
    const late = cache.beginObservation();
    cache.commitReading(uid, late, reading([sandbox()], [container()]));
    cache.commitReading(uid, early, reading([sandbox({ ready: false })], []));
    assert.deepEqual([ids(), cache.sandbox('s1')?.ready], [['s1', 'c1'], true]);
    cache.commitReading(uid, cache.beginObservation(), reading([], []));
    assert.equal(cache.get(uid), undefined);
  });

  it('is read part by part, for ids that it has', () => {
    const { cache, ids } = setUp();
    cache.commitContainer('c1', cache.beginObservation(), container());
    cache.commitSandbox('s1', cache.beginObservation(), sandbox());
    assert.equal(cache.get(uid), undefined);
    cache.noteSandbox(sandbox());
    cache.noteContainer(pod, container());
    cache.commitContainer('c1', cache.beginObservation(), exited());
    cache.commitSandbox('s1', cache.beginObservation(), sandbox({ ready: false }));
    assert.deepEqual([cache.container('c1')?.state, cache.sandbox('s1')?.ready], ['exited', false]);
    cache.commitContainer('c1', cache.beginObservation(), undefined);
    assert.deepEqual(ids(), ['s1']);
    cache.commitSandbox('s1', cache.beginObservation(), undefined);
    assert.equal(cache.get(uid), undefined);
  });
});

describe('changes', () => {
  it('is announced when it can be read, with its origin, and only if it changed', () => {
    const { cache, changes, stop } = setUp();
    const shown: boolean[] = [];
    cache.onChange(({ after }) => shown.push(cache.get(uid) === after));
    cache.noteSandbox(sandbox());
    cache.noteSandbox(sandbox(), 'observed');
    cache.noteContainer(pod, container(), 'observed');
    cache.commitReading(uid, cache.beginObservation(), reading([], []));
    cache.commitReading(uid, cache.beginObservation(), reading([], []));
    assert.deepEqual(
      changes.map(({ origin, before, after }) => [origin, before?.containers.length, after?.containers.length]),
      [
        ['own', undefined, 0],
        ['observed', 0, 1],
        ['observed', 1, undefined],
      ],
    );
    assert.deepEqual(shown, [true, true, true]);
    stop();
    cache.noteSandbox(sandbox({ id: sandboxId('s2') }));
    assert.equal(changes.length, 3);
  });

  it('wakes callers that wait for the next state of the pod', async () => {
    const { cache } = setUp();
    const abort = new AbortController();
    const waits = [cache.whenChanged(uid), cache.whenChanged(uid, abort.signal)];
    const other = cache.whenChanged(podUid('other'), abort.signal);
    cache.noteSandbox(sandbox());
    assert.deepEqual(await Promise.all(waits), [cache.get(uid), cache.get(uid)]);
    abort.abort();
    assert.equal(await other, undefined);
    assert.equal(await cache.whenChanged(uid, abort.signal), cache.get(uid));
  });
});

describe('the health of the cache', () => {
  it('starts with the first list, and with the reading of each pod in it', () => {
    const { cache } = setUp();
    const other = podUid('other');
    assert.deepEqual([cache.isRead(uid), cache.isSure(uid)], [false, false]);
    cache.noteListed([pod, { ...pod, uid: other }]);
    assert.deepEqual([cache.isRead(uid), cache.isRead(podUid('third'))], [false, true]);
    assert.deepEqual(
      [...cache.unread()].map((each) => each.uid),
      [uid, other],
    );
    cache.commitReading(uid, cache.beginObservation(), reading([sandbox()], []));
    assert.deepEqual([cache.isRead(uid), cache.isSure(uid), cache.isRead(other)], [true, true, false]);
    cache.forgetUnread((each) => each === other);
    assert.deepEqual([cache.isRead(other), [...cache.unread()]], [true, []]);
  });

  it('is bad while a pod cannot be read, since the first failure', async () => {
    const { cache, clock } = setUp();
    cache.noteListed([]);
    const first = new Error('first');
    assert.deepEqual(cache.noteTrouble(uid, first), { error: first, sinceMs: 0, failures: 1 });
    await clock.advance(1000);
    const second = new Error('second');
    cache.noteTrouble(uid, second);
    assert.deepEqual(cache.troubleOf(uid), { error: second, sinceMs: 0, failures: 2 });
    assert.deepEqual([cache.isRead(uid), cache.isSure(uid)], [true, false]);
    cache.commitReading(uid, cache.beginObservation(), reading([], []));
    assert.deepEqual([cache.troubleOf(uid), cache.isSure(uid)], [undefined, true]);
  });

  it('is uncertain after a call with an unknown result, until the pod was read again', () => {
    const { cache } = setUp();
    const asked: PodUid[] = [];
    const stop = cache.onUnsure((each) => asked.push(each));
    cache.noteListed([]);
    cache.noteUnsure(uid);
    assert.deepEqual([cache.isRead(uid), cache.isSure(uid), asked], [true, false, [uid]]);
    cache.commitReading(uid, cache.beginObservation(), reading([sandbox()], []));
    assert.equal(cache.isSure(uid), true);
    stop();
    cache.noteUnsure(uid);
    assert.equal(asked.length, 1);
  });
});

describe('the reports of events', () => {
  const started = () => {
    const made = setUp();
    made.cache.noteSandbox(sandbox());
    made.cache.noteContainer(pod, container());
    return made;
  };

  it('ends a running container, with the reason that the runtime will give', () => {
    const { cache } = started();
    assert.equal(cache.commitExit('c1', { exitCode: 0, finishedAtMs: 5 }), true);
    const { state, reason, exitCode, finishedAtMs } = cache.container('c1') ?? container();
    assert.deepEqual([state, reason, exitCode, finishedAtMs], ['exited', 'Completed', 0, 5]);
    assert.deepEqual(
      [
        cache.commitExit('c1', { exitCode: 1, finishedAtMs: 6 }),
        cache.commitExit('c9', { exitCode: 1, finishedAtMs: 6 }),
      ],
      [false, false],
    );
    assert.equal(cache.container('c1')?.exitCode, 0);
    const failed = started().cache;
    failed.commitExit('c1', { exitCode: 3, finishedAtMs: 5, message: 'it failed' });
    assert.deepEqual([failed.container('c1')?.reason, failed.container('c1')?.message], ['Error', 'it failed']);
  });

  it('is unconfirmed until the runtime itself reports the exit', () => {
    const exit = { exitCode: 3, finishedAtMs: 5 };
    const confirmations: [string, boolean, (cache: RuntimeCache, before: number) => void][] = [
      [
        'a reading',
        true,
        (cache) => cache.commitReading(uid, cache.beginObservation(), reading([sandbox()], [exited()])),
      ],
      ['an answer', true, (cache) => cache.commitContainer('c1', cache.beginObservation(), exited())],
      ['a removal', true, (cache) => cache.commitContainer('c1', cache.beginObservation(), undefined)],
      ['an own call', true, (cache) => cache.noteContainer(pod, exited())],
      ['an early answer', false, (cache, before) => cache.commitContainer('c1', before, container())],
      ['an own start', false, (cache) => cache.noteContainer(pod, container())],
      [
        'an early reading',
        false,
        (cache, before) => cache.commitReading(uid, before, reading([sandbox()], [container()])),
      ],
    ];
    for (const [what, confirms, confirm] of confirmations) {
      const { cache } = started();
      const before = cache.beginObservation();
      cache.commitExit('c1', exit);
      assert.equal(cache.isConfirmed('c1'), false);
      confirm(cache, before);
      assert.equal(cache.isConfirmed('c1'), confirms, what);
    }
  });

  it('advances and adds containers of a known sandbox', () => {
    const { cache, ids } = started();
    cache.commitSnapshot({ sandbox: sandbox(), containers: [exited(), container({ id: containerId('c2') })] });
    assert.deepEqual([ids(), cache.container('c1')?.state], [['s1', 'c2', 'c1'], 'exited']);
    assert.deepEqual([cache.isConfirmed('c1'), cache.isConfirmed('c2')], [false, true]);
  });

  it('says nothing of a sandbox that the runtime has not shown: it may be gone since', () => {
    const { cache, ids, changes } = started();
    const before = changes.length;
    const old = sandbox({ id: sandboxId('s0') });
    cache.commitSnapshot({ sandbox: old, containers: [exited({ id: containerId('c0'), sandboxId: old.id })] });
    cache.commitSnapshot({ sandbox: sandbox({ podUid: podUid('') }), containers: [] });
    assert.deepEqual([ids(), changes.length, cache.isConfirmed('c0')], [['s1', 'c1'], before, true]);
  });

  it('is remembered as unconfirmed for the newest containers only', () => {
    const { cache } = setUp();
    cache.noteSandbox(sandbox());
    for (let at = 0; at <= 4096; at++) {
      cache.noteContainer(pod, container({ id: containerId(`x${at}`) }));
      cache.commitExit(`x${at}`, { exitCode: 0, finishedAtMs: 5 });
      cache.noteContainerRemoved(uid, containerId(`x${at}`));
    }
    assert.deepEqual(
      [cache.isConfirmed('x0'), cache.isConfirmed('x1'), cache.isConfirmed('x4096')],
      [true, false, false],
    );
  });
});
