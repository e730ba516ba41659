import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { CacheChange } from '../features/pleg/runtime-cache.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { WorkerStates } from '../features/pod-workers/worker-states.ts';
import { podUid } from '../model/ids.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import type { ClusterObjectChange } from '../ports/cluster-objects.ts';
import type { CredentialChange } from '../ports/pod-credentials.ts';
import { connectChangeReactions, connectPodReactions, connectRuntimeReaction } from './change-reactions.ts';
import { PodChanges } from './pod-changes.ts';
import type { SyncInput } from './sync-queue.ts';

const uid = podUid('a');
const runtimeStatus = emptyPodRuntimeStatus({ uid, name: 'web', namespace: 'default' }, 0);

/** Takes the one listener of a part, for the test to call. */
class Listener<Arguments extends unknown[]> {
  notify: (...given: Arguments) => void = () => assert.fail('no listener');
  readonly onChange = (listener: (...given: Arguments) => void): (() => void) => {
    this.notify = listener;
    return () => undefined;
  };
}

const describeInput = (input: SyncInput): string =>
  input.kind === 'sync' ? `sync ${input.uids.join(' ')}` : input.kind;

function fixture() {
  const done: string[] = [];
  const states = new WorkerStates();
  const pod = buildPod({ 'metadata.uid': 'a' });
  const cache = new Listener<[CacheChange]>();
  const objects = new Listener<[ClusterObjectChange]>();
  const drivers = new Listener<[string, boolean]>();
  const podCredentials = new Listener<[CredentialChange]>();
  const monitor = Object.assign(new Listener<[]>(), { networkError: (): string | undefined => undefined });
  const queue = { post: (input: SyncInput) => void done.push(describeInput(input)) };
  return { done, states, pod, cache, objects, drivers, podCredentials, monitor, queue };
}

function changes() {
  const world = fixture();
  connectChangeReactions({
    ...world,
    managers: { runtimeChanged: () => void world.done.push('managers') },
    probes: { noteStatus: (status) => void world.done.push(`probe ${status.uid}`) },
    status: { refresh: (changed) => (world.done.push(`status ${changed}`), undefined) },
    store: { podsUsing: (_kind, _namespace, name) => (name === 'used' ? [world.pod] : []) },
    volumes: {
      objectChanged: ({ kind, name }) => void world.done.push(`volumes of ${kind} ${name}`),
      undoAgain: () => void world.done.push('undo volumes'),
    },
  });
  return world;
}

describe('a change of a pod in the runtime', () => {
  it('reaches the probes before the status, which shows their results', () => {
    const { cache, done } = changes();
    cache.notify({ uid, before: undefined, after: runtimeStatus, origin: 'observed' });
    assert.deepEqual(done, ['probe a', 'status a', 'managers']);
  });

  it('changes only the status if nothing of the pod is left', () => {
    const { cache, done } = changes();
    cache.notify({ uid, before: runtimeStatus, after: undefined, origin: 'observed' });
    assert.deepEqual(done, ['status a', 'managers']);
  });
});

describe('a change of a pod that a feature announces', () => {
  it('updates the status immediately, and removes a pod that is gone from the shutdown', () => {
    const { done, pod } = fixture();
    const announced = new PodChanges();
    connectPodReactions({
      changes: announced,
      status: { refresh: (changed) => (done.push(`status ${changed}`), undefined) },
      shutdownState: { forget: (gone) => void done.push(`forget ${gone}`) },
    });
    announced.notify(uid);
    announced.notifyGone(pod);
    assert.deepEqual(done, ['status a', 'forget a']);
  });
});

describe('a change of a bundle or of a certificate', () => {
  it('reaches the volumes', () => {
    const { podCredentials, done } = changes();
    podCredentials.notify({ kind: 'ClusterTrustBundle', namespace: '', name: 'ca' });
    assert.deepEqual(done, ['volumes of ClusterTrustBundle ca']);
  });
});

describe('a change of an object', () => {
  it('syncs the pods that use it', () => {
    const { objects, done } = changes();
    objects.notify({ kind: 'Secret', namespace: 'default', name: 'used' });
    assert.deepEqual(done, ['volumes of Secret used', 'sync a']);
  });

  it('that no pod uses syncs no pod', () => {
    const { objects, done } = changes();
    objects.notify({ kind: 'Secret', namespace: 'default', name: 'other' });
    assert.deepEqual(done, ['volumes of Secret other']);
  });
});

describe('a CSI driver that registers', () => {
  const ended = (phase: WorkerState['phase']): WorkerState => ({ phase }) as WorkerState;

  it('wakes starting and ending pods whose volumes wait for it', () => {
    const { drivers, states, done } = changes();
    states.set(podUid('runs'), ended('syncing'));
    states.set(podUid('ends'), ended('terminated'));
    states.set(podUid('over'), ended('finished'));
    drivers.notify('example.csi', true);
    assert.deepEqual(done, ['volumes of CSIDriver example.csi', 'undo volumes', 'sync ends', 'housekeeping']);
  });

  it('does nothing when it is removed', () => {
    const { drivers, done } = changes();
    drivers.notify('example.csi', false);
    assert.deepEqual(done, []);
  });
});

describe('a change of the runtime', () => {
  it('syncs every pod once the network is ready', () => {
    const { monitor, states, queue, done } = fixture();
    states.set(podUid('a'), { phase: 'syncing' } as WorkerState);
    states.set(podUid('b'), { phase: 'terminating' } as WorkerState);
    connectRuntimeReaction({ monitor, states, queue, loop: { wake: () => void done.push('wake') } });
    monitor.notify();
    assert.deepEqual(done, ['sync a b']);
  });

  it('only wakes the loop while the network is not ready', () => {
    const { monitor, states, queue, done } = fixture();
    states.set(podUid('a'), { phase: 'syncing' } as WorkerState);
    const down = Object.assign(monitor, { networkError: () => 'cni config uninitialized' });
    connectRuntimeReaction({ monitor: down, states, queue, loop: { wake: () => void done.push('wake') } });
    monitor.notify();
    assert.deepEqual(done, ['wake']);
  });
});
