import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../api/annotations.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodStatus } from '../../api/core/pod-status.ts';
import { podFullName } from '../../api/pod.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { rejectionMessage } from '../features/admission/admission-state.ts';
import { PodStore } from '../features/pod-store/pod-store.ts';
import { WorkerStates } from '../features/pod-workers/worker-states.ts';
import type { Termination, WorkerState } from '../features/pod-workers/worker-state.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { PodDirectory } from './pod-directory.ts';
import { SyncQueue } from './sync-queue.ts';

const termination: Termination = { cause: 'removed', graceMs: 1000, gone: true };
const named = (uid: string, more: Parameters<typeof buildPod>[0] = {}): Pod =>
  buildPod({ 'metadata.uid': uid, 'metadata.name': uid, ...more });
const asStatic = { 'metadata.annotations': { [annotations.configSource]: 'file' } };

/** A worker of the pod, one per phase. */
const inPhase = (pod: Pod, phase: WorkerState['phase']): WorkerState =>
  phase === 'terminating'
    ? { phase, subject: { kind: 'pod', pod }, termination }
    : phase === 'terminated' || phase === 'finished'
      ? { phase, pod, termination }
      : { phase, pod };

function runtimeOf(pod: Pod, running: boolean): PodRuntimeStatus {
  const { uid, name, namespace } = pod.metadata;
  const status = emptyPodRuntimeStatus({ uid: podUid(uid), name, namespace }, 0);
  return running ? ({ ...status, containers: [{ state: 'running' }] } as unknown as PodRuntimeStatus) : status;
}

function harness() {
  const store = new PodStore();
  const states = new WorkerStates();
  const statuses = new Map<string, PodStatus>();
  const runtime = new Map<string, PodRuntimeStatus>();
  const queue = new SyncQueue();
  const directory = new PodDirectory({ store, states, statuses, cache: runtime, queue });
  const at = (pod: Pod, phase: WorkerState['phase']): void => states.set(podUid(pod.metadata.uid), inPhase(pod, phase));
  return { store, states, statuses, runtime, queue, directory, at };
}

const uids = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.uid);

describe('pod directory', () => {
  it('lists queued, wanted and stopping pods, each once', () => {
    const { store, states, queue, directory, at } = harness();
    const [waiting, wanted, ending] = [named('waiting'), named('wanted'), named('ending')];
    queue.post({ kind: 'configuration', update: { op: 'ADD', source: 'file', pods: [waiting] } });
    store.set(wanted);
    at(wanted, 'syncing');
    at(ending, 'terminating');
    const orphan = runtimeOf(named('orphan'), true);
    states.set(orphan.uid, { phase: 'terminating', subject: { kind: 'orphan', runtime: orphan }, termination });
    assert.deepEqual(uids(directory.visible()), ['waiting', 'wanted', 'ending']);
  });

  it('returns the pod of the source, otherwise the pod of the worker', () => {
    const { store, directory, at } = harness();
    const [old, now, gone] = [named('a'), named('a'), named('gone')];
    store.set(now);
    at(old, 'syncing');
    at(gone, 'terminated');
    assert.equal(directory.byUid(podUid('a')), now);
    assert.equal(directory.byUid(podUid('gone')), gone);
    assert.equal(directory.byUid(podUid('unknown')), undefined);
  });

  it('treats a wanted pod as alive until it has stopped, or has finished and nothing of it runs', () => {
    const cases: [WorkerState['phase'] | undefined, PodStatus['phase'], boolean, boolean][] = [
      [undefined, undefined, false, true],
      ['queued', 'Pending', false, true],
      ['syncing', 'Running', true, true],
      ['syncing', 'Failed', true, false],
      ['terminating', 'Running', false, true],
      ['terminating', 'Succeeded', true, true],
      ['terminating', 'Succeeded', false, false],
      ['terminated', 'Running', false, false],
      ['finished', undefined, false, false],
    ];
    for (const [phase, published, runs, expected] of cases) {
      const { store, statuses, runtime, directory, at } = harness();
      const pod = named('a');
      store.set(pod);
      if (phase !== undefined) at(pod, phase);
      if (published !== undefined) statuses.set('a', { phase: published });
      runtime.set('a', runtimeOf(pod, runs));
      assert.equal(directory.live().length === 1, expected, `${phase} ${published} ${runs}`);
    }
  });

  it('prefers the published phase to the phase in the source', () => {
    const { store, statuses, directory } = harness();
    const pod = named('a', { status: { phase: 'Failed' } });
    store.set(pod);
    assert.deepEqual([uids(directory.live()), directory.hasEnded(pod)], [[], true]);
    statuses.set('a', { phase: 'Running' });
    assert.deepEqual([uids(directory.live()), directory.hasEnded(pod)], [['a'], true]);
  });

  it('treats a pod as over once its status says so or it is being stopped', () => {
    const { statuses, directory, at } = harness();
    const uid = podUid('a');
    const answers = [directory.isOver(uid)];
    for (const phase of ['queued', 'syncing', 'terminating', 'terminated', 'finished'] as const) {
      at(named('a'), phase);
      answers.push(directory.isOver(uid));
    }
    at(named('a'), 'syncing');
    statuses.set('a', { phase: 'Succeeded' });
    answers.push(directory.isOver(uid));
    assert.deepEqual(answers, [false, false, false, true, true, true, true]);
  });

  it('reports by the published status that a pod has ended, and a rejected static pod as not ended', () => {
    const { store, statuses, directory } = harness();
    store.set(named('a', { status: { phase: 'Succeeded' } }));
    const answers = [directory.isTerminal(podUid('a')), directory.isTerminal(podUid('other'))];
    statuses.set('a', { phase: 'Running' });
    answers.push(directory.isTerminal(podUid('a')));
    store.set(named('a', asStatic));
    statuses.set('a', { phase: 'Failed', message: rejectionMessage('no room') });
    answers.push(directory.isTerminal(podUid('a')));
    statuses.set('a', { phase: 'Failed', message: 'it ran' });
    answers.push(directory.isTerminal(podUid('a')));
    assert.deepEqual(answers, [true, false, false, false, true]);
  });

  it('reports nothing running for a pod without a worker, or whose worker has stopped it', () => {
    const { directory, at } = harness();
    const answers = [directory.hasStopped(podUid('a'))];
    for (const phase of ['queued', 'syncing', 'terminating', 'terminated', 'finished'] as const) {
      at(named('a'), phase);
      answers.push(directory.hasStopped(podUid('a')));
    }
    assert.deepEqual(answers, [true, false, false, false, true, true]);
  });

  it('distinguishes a rejected static pod from a failed one, and keeps both', () => {
    const { statuses, directory } = harness();
    const fromFile = named('a', asStatic);
    statuses.set('a', { phase: 'Failed', message: rejectionMessage('no room') });
    assert.deepEqual([directory.wasTurnedAway(fromFile), directory.wasTurnedAway(named('a'))], [true, false]);
    statuses.set('a', { phase: 'Failed', message: 'it ran' });
    assert.deepEqual([directory.wasTurnedAway(fromFile), directory.hasEnded(fromFile)], [false, true]);
    assert.ok(statuses.has('a'));
  });

  it('reports whether a static pod of a given name is being stopped', () => {
    const { directory, at } = harness();
    const [fromFile, other] = [named('a', asStatic), named('b')];
    at(fromFile, 'syncing');
    at(other, 'terminating');
    const before = directory.isStaticEnding(podFullName(fromFile));
    at(fromFile, 'terminating');
    assert.deepEqual(
      [before, directory.isStaticEnding(podFullName(fromFile)), directory.isStaticEnding(podFullName(other))],
      [false, true, false],
    );
  });
});
