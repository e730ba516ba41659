import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { buildPod, type Changes } from '../../api/testing/pod-builder.ts';
import type { PodPhase } from '../../api/core/pod-status.ts';
import { PodStore } from '../features/pod-store/pod-store.ts';
import { podUid } from '../model/ids.ts';
import { emptyPodRuntimeStatus, type PodRuntimeStatus } from '../model/runtime-status.ts';
import { createPodHandlers } from './pod-handlers.ts';

const pod = (uid: string, changes: Changes = {}) => buildPod({ 'metadata.uid': uid, 'metadata.name': uid, ...changes });

function harness() {
  const calls: string[] = [];
  const runtime: PodRuntimeStatus[] = [];
  const unread: Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>[] = [];
  const working = new Set<string>();
  const adopted: string[][] = [];
  const missing: string[] = [];
  const phases = new Map<string, PodPhase>();
  /** What the grants of resources were told. */
  const asked: string[] = [];
  const store = new PodStore();
  const handlers = createPodHandlers({
    store,
    workers: {
      update: (subject, isNew) => void calls.push(`${isNew ? 'start' : 'update'} ${subject.metadata.uid}`),
      kill: (uid, { cause }) => void calls.push(`kill ${uid} ${cause}`),
      killOrphan: (subject) => void calls.push(`end ${subject.uid}`),
      sync: (uid) => void calls.push(`sync ${uid}`),
      stateOf: (uid) => (working.has(uid) ? { phase: 'syncing', pod: pod(uid) } : undefined),
    },
    runtimePods: () => runtime,
    unreadPods: () => unread,
    status: { refresh: (uid) => (calls.push(`status ${uid}`), { phase: phases.get(uid) ?? 'Running' }) },
    mirrors: { podChanged: (subject) => void calls.push(`mirror ${subject.metadata.uid}`) },
    probes: { addPod: (subject) => void calls.push(`probe ${subject.metadata.uid}`) },
    admission: {
      adopt: (pods) => void adopted.push(pods.map((subject) => subject.metadata.uid)),
      consider: (subject) => void calls.push(`consider ${subject.metadata.uid}`),
      missingFeatures: () => missing,
    },
    allocation: {
      podUpdated: (subject) => void asked.push(`updated ${subject.metadata.uid}`),
      podRemoved: (uid) => void asked.push(`removed ${uid}`),
    },
    recorder: {
      event: (subject, type, reason, message) =>
        void calls.push(`${subject.metadata.uid} ${type} ${reason}: ${message}`),
    },
    onPodsChanged: () => void calls.push('changed'),
    cleanup: () => void calls.push('clean'),
    requestCleanup: () => void calls.push('ask to clean'),
    log: silentLogger,
  } as Parameters<typeof createPodHandlers>[0]);
  return { calls, handlers, store, runtime, unread, working, adopted, missing, asked, phases };
}

describe('what the loop does about its inputs', () => {
  it('takes new pods in by the time they were made, probes before the first status', () => {
    const { handlers, calls, store, adopted } = harness();
    const younger = pod('b', { 'metadata.creationTimestamp': '2026-01-01T00:00:01Z' });
    const older = pod('a', { 'metadata.creationTimestamp': '2026-01-01T00:00:00Z' });
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [younger, older] });
    assert.deepEqual(calls, [
      'probe a',
      'consider a',
      'start a',
      'status a',
      'probe b',
      'consider b',
      'start b',
      'status b',
      'changed',
    ]);
    assert.deepEqual(adopted, [['b', 'a']]);
    assert.equal(store.size, 2);
  });

  it('ends a pod of the same name that nobody wants before the new one, and no other', () => {
    const { handlers, calls, runtime, store } = harness();
    const runs = (uid: string, name: string): void =>
      void runtime.push(emptyPodRuntimeStatus({ uid: podUid(uid), name, namespace: 'default' }, 0));
    runs('old', 'a');
    runs('other', 'b');
    runs('wanted', 'a');
    store.set(pod('wanted', { 'metadata.name': 'a' }));
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls.slice(0, 3), ['end old', 'probe a', 'consider a']);
  });

  it('ends a pod of the same name that could not be read yet too: it may run', () => {
    const { handlers, calls, unread, store } = harness();
    unread.push(
      { uid: podUid('old'), name: 'a', namespace: 'default' },
      { uid: podUid('elsewhere'), name: 'a', namespace: 'other' },
      { uid: podUid('wanted'), name: 'a', namespace: 'default' },
      { uid: podUid('a'), name: 'a', namespace: 'default' },
    );
    store.set(pod('wanted', { 'metadata.name': 'a' }));
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls.slice(0, 3), ['end old', 'probe a', 'consider a']);
  });

  it('judges a pod that is still being stopped under its uid when it begins anew, and not before', () => {
    const { handlers, calls, working } = harness();
    working.add('a');
    handlers.podAdditions({ op: 'ADD', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls, ['probe a', 'start a', 'status a', 'changed']);
  });

  it('judges no pod that is deleted already', () => {
    const { handlers, calls } = harness();
    handlers.podAdditions({
      op: 'ADD',
      source: 'api',
      pods: [pod('a', { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' })],
    });
    assert.deepEqual(calls, ['probe a', 'start a', 'status a', 'changed']);
  });

  it('tells of an update that needs what the node does not declare, and goes on', () => {
    const { handlers, calls, store, missing } = harness();
    missing.push('X', 'Y');
    handlers.podUpdates({ op: 'UPDATE', source: 'api', pods: [pod('new')] });
    assert.deepEqual(calls, ['update new', 'changed']);
    store.set(pod('a'));
    handlers.podUpdates({ op: 'UPDATE', source: 'api', pods: [pod('a')] });
    assert.deepEqual(calls.slice(2), [
      'a Warning FailedNodeDeclaredFeaturesCheck: Pod requires node features that are not available: X, Y',
      'update a',
      'changed',
    ]);
  });

  it('updates, removes and reconciles', () => {
    const { handlers, calls, store, asked } = harness();
    handlers.podUpdates({ op: 'UPDATE', source: 'file', pods: [pod('a')] });
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    handlers.podRemoves({ op: 'REMOVE', source: 'file', pods: [pod('a')] });
    assert.deepEqual(calls, ['update a', 'changed', 'status a', 'kill a removed', 'changed']);
    assert.deepEqual([asked, store.size], [['updated a', 'removed a'], 0]);
  });

  it('shows at once what others say of a pod, and passes over it only when they say it is over', () => {
    const { handlers, calls, phases } = harness();
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    phases.set('a', 'Failed');
    handlers.podReconcile({ op: 'RECONCILE', source: 'api', pods: [pod('a')] });
    assert.deepEqual(calls, ['status a', 'status a', 'sync a']);
  });

  it('never runs a mirror pod; whoever keeps the mirrors is told of it, and of its static pod', () => {
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
    assert.deepEqual(calls, ['mirror mirror', 'changed', 'mirror mirror', 'changed']);
  });

  it('looks at the pod an event is about; one nobody knows is for the clean-up, in its turn', () => {
    const { handlers, calls, working } = harness();
    working.add('a');
    handlers.lifecycleEvent({ kind: 'ContainerDied', podUid: podUid('a') } as never);
    handlers.lifecycleEvent({ kind: 'ContainerRemoved', podUid: podUid('a') } as never);
    handlers.lifecycleEvent({ kind: 'ContainerDied', podUid: podUid('stray') } as never);
    assert.deepEqual(calls, ['sync a', 'ask to clean']);
  });

  it('shows every verdict of a probe, and acts on those that change what runs', () => {
    const { handlers, calls } = harness();
    handlers.probeUpdate({ podUid: podUid('a'), type: 'readiness', verdict: 'failure' });
    handlers.probeUpdate({ podUid: podUid('a'), type: 'liveness', verdict: 'failure' });
    assert.deepEqual(calls, ['status a', 'status a', 'sync a']);
  });
});
