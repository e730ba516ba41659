import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import type { PodStatus } from '../../api/core/pod-status.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { StatusManager } from '../features/status/status-manager.ts';
import type { Termination, WorkerState } from '../features/pod-workers/worker-state.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { PodChanges } from './pod-changes.ts';
import { PublishedPods } from './published-pods.ts';

const named = (uid: string, more: Parameters<typeof buildPod>[0] = {}): Pod =>
  buildPod({ 'metadata.uid': uid, 'metadata.name': uid, ...more });
const running: PodStatus = { phase: 'Running' };

function runtimeOf({ metadata }: Pod, ...states: string[]): PodRuntimeStatus {
  const identity = { uid: podUid(metadata.uid), name: metadata.name, namespace: metadata.namespace };
  const containers = states.map((state, at) => ({ name: `c${at}`, image: `image-${at}`, state }));
  return { ...emptyPodRuntimeStatus(identity, 0), containers } as unknown as PodRuntimeStatus;
}

function harness({ standalone = false, restored = new Map<string, PodStatus>() } = {}) {
  const clock = new FakeClock();
  const statuses = new StatusManager(clock, { restored });
  const changes = new PodChanges();
  const world = {
    visible: [] as Pod[],
    waiting: [] as Pod[],
    runtime: [] as PodRuntimeStatus[],
    states: new Map<string, WorkerState>(),
    sinceMs: undefined as number | undefined,
  };
  const find = (uid: string) => world.runtime.find((each) => each.uid === uid);
  const published = new PublishedPods({
    directory: { visible: () => world.visible },
    queue: { waitingPods: () => world.waiting },
    statuses,
    cache: { get: find, isRead: (uid) => find(uid) !== undefined, all: () => world.runtime.values() },
    workers: { stateOf: (uid) => world.states.get(uid), sinceMs: () => world.sinceMs },
    changes,
    standalone,
    nowMs: () => clock.nowMs(),
  });
  const names = (): string[] => published.pods().map(({ metadata }) => metadata.name);
  return { clock, statuses, changes, world, published, names };
}

describe('the pods that the node shows', () => {
  it('lists pods with a status, and pods of which the runtime has no container', () => {
    const { world, statuses, names } = harness();
    const [published, unread, empty, started, waiting] = ['published', 'unread', 'empty', 'started', 'waiting'].map(
      (uid) => named(uid),
    ) as [Pod, Pod, Pod, Pod, Pod];
    world.visible = [published, unread, empty, started, waiting];
    statuses.set(published, running);
    world.runtime = [runtimeOf(empty), runtimeOf(started, 'running'), runtimeOf(waiting)];
    world.waiting = [waiting, published];
    assert.deepEqual(names(), ['published', 'empty']);
  });

  it('shows each pod with its published status, or else with the status of its source', () => {
    const { world, statuses, published } = harness();
    const pod = named('a', { status: { phase: 'Pending' } });
    world.visible = [pod];
    world.runtime = [runtimeOf(pod)];
    assert.deepEqual(published.pods(), [{ ...pod, apiVersion: 'v1', kind: 'Pod', status: { phase: 'Pending' } }]);
    statuses.set(pod, running);
    assert.equal(published.pods()[0]?.status?.phase, 'Running');
  });

  it('shows the start time of the record with an API server, and that of this run without one', () => {
    const startTime = '2025-12-31T00:00:00Z';
    for (const [standalone, first, expected] of [
      [false, startTime, startTime],
      [true, startTime, '2026-01-01T00:00:00Z'],
    ] as const) {
      const restored = new Map([['a', { ...running, startTime }]]);
      const { world, statuses, published } = harness({ standalone, restored });
      const pod = named('a');
      world.visible = [pod];
      const shown = (): string | undefined => published.pods()[0]?.status?.startTime;
      assert.equal(shown(), first, 'before the first status of this run');
      const streamed: unknown[] = [];
      published.watch((change) => streamed.push(change.pod.status?.startTime));
      statuses.set(pod, running);
      assert.deepEqual([shown(), streamed], [expected, [expected]]);
      assert.equal(statuses.get(podUid('a'))?.startTime, startTime, 'deadlines count from the time that is kept');
    }
  });

  it('shows when a pod began to be stopped, unless it has completed or was deleted', () => {
    const { world, statuses, published, clock } = harness();
    const gone: Termination = { cause: 'removed', graceMs: 1000, gone: true };
    const completed: Termination = { ...gone, cause: 'completed' };
    const at = '2026-01-01T00:00:05.000Z';
    const cases: [WorkerState['phase'], Termination, string | undefined][] = [
      ['syncing', gone, undefined],
      ['terminating', gone, at],
      ['terminated', gone, at],
      ['finished', gone, undefined],
      ['terminating', completed, undefined],
      ['terminated', completed, undefined],
    ];
    for (const deleted of [undefined, '2026-01-01T00:00:01Z'])
      for (const [phase, termination, expected] of cases) {
        const pod = named('a', { 'metadata.deletionTimestamp': deleted });
        world.visible = [pod];
        world.sinceMs = clock.nowMs() + 5000;
        world.states.set('a', { phase, pod, subject: { kind: 'pod', pod }, termination } as unknown as WorkerState);
        statuses.set(pod, running);
        assert.equal(published.pods()[0]?.metadata.deletionTimestamp, deleted ?? expected, `${phase} ${deleted}`);
      }
    world.visible = [named('a')];
    world.sinceMs = undefined;
    world.states.set('a', { phase: 'terminated', pod: named('a'), termination: gone });
    assert.equal(published.pods()[0]?.metadata.deletionTimestamp, '2026-01-01T00:00:00.000Z');
  });

  it('streams each published status and each removed pod until the client disconnects', () => {
    const { statuses, changes, published } = harness();
    const seen: string[] = [];
    const stop = published.watch(({ type, pod }) => seen.push(`${type} ${pod.metadata.name} ${pod.status?.phase}`));
    const pod = named('a');
    statuses.set(pod, running);
    changes.notifyGone({ ...pod, status: { phase: 'Succeeded' } });
    stop();
    statuses.set(pod, { phase: 'Failed' });
    changes.notifyGone(pod);
    assert.deepEqual(seen, ['MODIFIED a Running', 'DELETED a Succeeded']);
  });
});

it('lists running pods with only what the runtime knows', () => {
  const { world, published } = harness();
  world.runtime = [runtimeOf(named('a'), 'running', 'exited'), runtimeOf(named('b'), 'exited'), runtimeOf(named('c'))];
  assert.deepEqual(published.runningPods(), [
    {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { uid: 'a', name: 'a', namespace: 'default' },
      spec: { containers: [{ name: 'c0', image: 'image-0' }] },
      status: {},
    },
  ]);
});
