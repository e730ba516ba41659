import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { Node } from '../../api/core/node.ts';
import type { PodPhase } from '../../api/core/pod-status.ts';
import { PodStore } from '../features/pod-store/pod-store.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { createPodHandlers } from './pod-handlers.ts';

const pod = (uid: string, changes: Changes = {}) => buildPod({ 'metadata.uid': uid, 'metadata.name': uid, ...changes });

const nodeWith = (...declaredFeatures: string[]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', uid: 'n', namespace: '' },
  spec: {},
  status: { declaredFeatures },
});

function harness() {
  const calls: string[] = [];
  const runtime: PodRuntimeStatus[] = [];
  const unread: Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>[] = [];
  const working = new Set<string>();
  const over = new Set<string>();
  const adopted: string[][] = [];
  const phases = new Map<string, PodPhase>();
  /** The recorded calls to the allocation manager. */
  const asked: string[] = [];
  const store = new PodStore();
  const handlers = createPodHandlers({
    store,
    workers: {
      update: (subject, isNew) => void calls.push(`${isNew ? 'start' : 'update'} ${subject.metadata.uid}`),
      kill: (uid, { cause }) => void calls.push(`kill ${uid} ${cause}`),
      killOrphan: (subject) => void calls.push(`end ${subject.uid}`),
      sync: (uid) => void calls.push(`sync ${uid}`),
      stateOf: (uid) =>
        working.has(uid) ? { phase: over.has(uid) ? 'finished' : 'syncing', pod: pod(uid) } : undefined,
    },
    cache: { all: () => runtime, unread: () => unread },
    status: { refresh: (uid) => (calls.push(`status ${uid}`), { phase: phases.get(uid) ?? 'Running' }) },
    mirrors: { podChanged: (subject) => void calls.push(`mirror ${subject.metadata.uid}`) },
    probes: { addPod: (subject) => void calls.push(`probe ${subject.metadata.uid}`) },
    admission: {
      adopt: (pods) => void adopted.push(pods.map((subject) => subject.metadata.uid)),
      admit: (subject) => void calls.push(`admit ${subject.metadata.uid}`),
    },
    allocation: {
      podUpdated: (subject) => void asked.push(`updated ${subject.metadata.uid}`),
      podRemoved: (uid) => void asked.push(`removed ${uid}`),
      retry: () => void calls.push('retry'),
    },
    recorder: {
      event: (subject, type, reason, message) =>
        void calls.push(`${subject.metadata.uid} ${type} ${reason}: ${message}`),
    },
    node: () => nodeWith('InPlacePodVerticalScalingInitContainers'),
    cgroups: { podsChanged: () => void calls.push('changed') },
    housekeeping: { request: () => void calls.push('clean') },
    queue: { post: ({ kind }) => void calls.push(`post ${kind}`) },
    log: silentLogger,
  } as Parameters<typeof createPodHandlers>[0]);
  return { calls, handlers, store, runtime, unread, working, over, adopted, asked, phases };
}

describe('how the loop handles its inputs', () => {
  it('adds new pods by creation time, and starts probes before the first status', () => {
    const { handlers, calls, store, adopted } = harness();
    const younger = pod('b', { 'metadata.creationTimestamp': '2026-01-01T00:00:01Z' });
    const older = pod('a', { 'metadata.creationTimestamp': '2026-01-01T00:00:00Z' });
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [younger, older] });
    assert.deepEqual(calls, [
      'probe a',
      'admit a',
      'start a',
      'status a',
      'probe b',
      'admit b',
      'start b',
      'status b',
      'changed',
      'retry',
    ]);
    assert.deepEqual(adopted, [['b', 'a']]);
    assert.equal(store.size, 2);
  });

  it('stops an unwanted pod of the same name before the new one starts, and no other pod', () => {
    const { handlers, calls, runtime, store } = harness();
    const runs = (uid: string, name: string): void =>
      void runtime.push(emptyPodRuntimeStatus({ uid: podUid(uid), name, namespace: 'default' }, 0));
    runs('old', 'a');
    runs('other', 'b');
    runs('wanted', 'a');
    store.set(pod('wanted', { 'metadata.name': 'a' }));
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls.slice(0, 3), ['end old', 'probe a', 'admit a']);
  });

  it('also stops a pod of the same name that could not be read yet, because it may run', () => {
    const { handlers, calls, unread, store } = harness();
    unread.push(
      { uid: podUid('old'), name: 'a', namespace: 'default' },
      { uid: podUid('elsewhere'), name: 'a', namespace: 'other' },
      { uid: podUid('wanted'), name: 'a', namespace: 'default' },
      { uid: podUid('a'), name: 'a', namespace: 'default' },
    );
    store.set(pod('wanted', { 'metadata.name': 'a' }));
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls.slice(0, 3), ['end old', 'probe a', 'admit a']);
  });

  it('admits a pod whose uid is still being stopped only when it starts again', () => {
    const { handlers, calls, working } = harness();
    working.add('a');
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls, ['probe a', 'start a', 'status a', 'changed', 'retry']);
  });

  it('does not run admission for a pod that is already deleted', () => {
    const { handlers, calls } = harness();
    handlers.podAdditions({
      op: 'ADD',
      source: 'api',
      pods: [pod('a', { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' })],
    });
    assert.deepEqual(calls, ['probe a', 'start a', 'status a', 'changed', 'retry']);
  });

  it('reports an update that needs features the node does not declare, and continues', () => {
    const { handlers, calls, store } = harness();
    const asking = (uid: string, cpu: string) =>
      pod(uid, {
        'spec.resources': { requests: { cpu } },
        'spec.initContainers': [{ name: 'i', image: 'x', resources: { requests: { cpu } } }],
      });
    handlers.podUpdates({ op: 'UPDATE', source: 'api', pods: [asking('new', '2')] });
    assert.deepEqual(calls, ['update new', 'changed', 'retry']);
    store.set(asking('a', '1'));
    handlers.podUpdates({ op: 'UPDATE', source: 'api', pods: [asking('a', '2')] });
    assert.deepEqual(calls.slice(3), [
      'a Warning FailedNodeDeclaredFeaturesCheck: Pod requires node features that are not available: InPlacePodLevelResourcesVerticalScaling',
      'update a',
      'changed',
      'retry',
    ]);
  });

  it('updates, removes and reconciles', () => {
    const { handlers, calls, store, asked } = harness();
    handlers.podUpdates({ op: 'UPDATE', source: 'file', pods: [pod('a')] });
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    handlers.podRemoves({ op: 'REMOVE', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls, ['update a', 'changed', 'retry', 'status a', 'kill a removed', 'changed', 'retry']);
    assert.deepEqual([asked, store.size], [['updated a', 'removed a'], 0]);
  });

  it('shows status changes by others at once, and syncs the pod only when they say it is over', () => {
    const { handlers, calls, phases } = harness();
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    phases.set('a', 'Failed');
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    assert.deepEqual(calls, ['status a', 'status a', 'sync a']);
  });

  it('reports the new generation of a pod that is over, because its worker makes no more syncs', () => {
    const { handlers, calls, working, over } = harness();
    for (const uid of ['a', 'b']) working.add(uid);
    over.add('a');
    handlers.podUpdates({ op: 'DELETE', source: 'api', pods: [pod('a'), pod('b')] });
    assert.deepEqual(calls, ['update a', 'status a', 'update b', 'changed', 'retry']);
  });

  it('never runs a mirror pod, and passes it and its static pod to the mirror manager', () => {
    const { handlers, calls } = harness();
    const origin = (source: string) => ({
      'metadata.name': 'web',
      'metadata.annotations': { 'kubernetes.io/config.source': source },
    });
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('static', origin('file'))] });
    assert.equal(calls.includes('mirror static'), true);
    calls.length = 0;
    const mirror = buildPod({
      'metadata.uid': 'mirror',
      'metadata.name': 'web',
      'metadata.annotations': { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'hash' },
    });
    handlers.podAdditions({ op: 'ADD', source: 'api', pods: [mirror] });
    handlers.podRemoves({ op: 'REMOVE', source: 'api', pods: [mirror] });
    assert.deepEqual(calls, ['mirror mirror', 'changed', 'retry', 'mirror mirror', 'changed', 'retry']);
  });

  it('syncs the pod of an event; queues a clean-up for an unknown pod', () => {
    const { handlers, calls, working } = harness();
    working.add('a');
    handlers.lifecycleEvent({ kind: 'ContainerDied', podUid: podUid('a') } as never);
    handlers.lifecycleEvent({ kind: 'ContainerRemoved', podUid: podUid('a') } as never);
    handlers.lifecycleEvent({ kind: 'ContainerDied', podUid: podUid('stray') } as never);
    assert.deepEqual(calls, ['sync a', 'post housekeeping']);
  });

  it('shows every probe result, and acts on those that change what runs', () => {
    const { handlers, calls } = harness();
    handlers.probeUpdate({ podUid: podUid('a'), type: 'readiness', verdict: 'failure' });
    handlers.probeUpdate({ podUid: podUid('a'), type: 'liveness', verdict: 'failure' });
    assert.deepEqual(calls, ['status a', 'status a', 'sync a']);
  });
});

describe('mirror pods and reports of other components', () => {
  const mirror = (uid: string) => pod(uid, { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'hash' } });

  it('does not treat a mirror pod as a pod to run: it is neither adopted, nor updated, nor killed', () => {
    const { handlers, calls, adopted, asked } = harness();
    handlers.podAdditions({ op: 'ADD', source: 'api', pods: [mirror('m'), pod('a')] });
    assert.deepEqual(adopted, [['a']]);
    calls.length = 0;
    handlers.podUpdates({ op: 'UPDATE', source: 'api', pods: [mirror('m')] });
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [mirror('m')] });
    handlers.podRemoves({ op: 'REMOVE', source: 'api', pods: [mirror('m')] });
    assert.deepEqual(calls, ['mirror m', 'changed', 'retry', 'mirror m', 'changed', 'retry']);
    assert.deepEqual(asked, ['removed m']);
  });

  it('ends a pod at once if another client reports a terminal phase', () => {
    const { handlers, calls, phases } = harness();
    for (const [uid, phase] of [
      ['a', 'Failed'],
      ['b', 'Succeeded'],
      ['c', 'Running'],
    ] as const) {
      phases.set(uid, phase);
      handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod(uid)] });
    }
    assert.deepEqual(calls, ['status a', 'sync a', 'status b', 'sync b', 'status c']);
  });

  it('syncs the pods that ask for it, and cleans up when asked', () => {
    const { handlers, calls } = harness();
    handlers.podSyncs([podUid('a'), podUid('b')]);
    handlers.podCleanups();
    assert.deepEqual(calls, ['sync a', 'sync b', 'clean', 'retry']);
  });

  it('does nothing for a removed container, and cleans up after unknown pods', () => {
    const { handlers, calls, working } = harness();
    working.add('a');
    const event = (uid: string, kind: 'ContainerDied' | 'ContainerRemoved'): void =>
      handlers.lifecycleEvent({ kind, podUid: podUid(uid), containerId: 'c' as never });
    event('a', 'ContainerRemoved');
    assert.deepEqual(calls, []);
    event('a', 'ContainerDied');
    event('unknown', 'ContainerDied');
    assert.deepEqual(calls, ['sync a', 'post housekeeping']);
  });

  it('does not report a change if no pod was added, and keeps the order of pods created at the same time', () => {
    const { handlers, calls } = harness();
    handlers.podAdditions({ op: 'ADD', source: 'api', pods: [] });
    assert.equal(calls.length, 0);
    handlers.podAdditions({ op: 'ADD', source: 'api', pods: [pod('b'), pod('a')] });
    assert.deepEqual(
      calls.filter((call) => call.startsWith('start')),
      ['start b', 'start a'],
    );
  });

  it('ends no pod of the same name that runs under the same uid', () => {
    const { handlers, calls, runtime } = harness();
    runtime.push(emptyPodRuntimeStatus({ uid: podUid('a'), name: 'a', namespace: 'default' }, 0));
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.equal(
      calls.some((call) => call.startsWith('end')),
      false,
    );
  });
});
