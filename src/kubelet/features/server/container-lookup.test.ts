import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { KubeletError } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { ContainerLookup } from './container-lookup.ts';

const missing = new KubeletError('NotFound', 'missing');
const pod = buildPod({ 'metadata.uid': 'u', 'spec.containers[0].name': 'main' });

interface Given {
  readonly wanted?: Pod[];
  readonly visible?: Pod[];
  readonly mirror?: Pod;
  readonly containers?: { id: string; name?: string; state?: string; attempt?: number; createdAtMs?: number }[];
  readonly sandboxes?: { id: string; ready: boolean }[];
}

function lookup({ wanted = [pod], visible = [], mirror, containers = [], sandboxes = [] }: Given = {}) {
  const status = {
    ...emptyPodRuntimeStatus({ uid: podUid('u'), name: 'web', namespace: 'default' }, 0),
    containers: containers.map((each) => ({ name: 'main', state: 'running', attempt: 0, createdAtMs: 0, ...each })),
    sandboxes,
  } as unknown as PodRuntimeStatus;
  return new ContainerLookup({
    store: { pods: () => wanted, mirrorOf: () => mirror },
    directory: { visible: () => visible },
    cache: { get: (uid) => (uid === 'u' ? status : undefined) },
  });
}

describe('the pod that a request names', () => {
  const old = buildPod({ 'metadata.uid': 'old' });

  it('is the one that is wanted, not one of the same name that is being stopped', () => {
    const { name, namespace } = pod.metadata;
    assert.equal(lookup({ visible: [old, pod] }).pod(namespace, name), pod);
    assert.equal(lookup({ wanted: [], visible: [old] }).pod(namespace, name), old);
    assert.equal(lookup().pod(namespace, 'other'), undefined);
    assert.equal(lookup().pod('other', name), undefined);
  });

  it('answers to its own uid and to that of its mirror pod', () => {
    const found = lookup({ mirror: buildPod({ 'metadata.uid': 'mirror' }) });
    assert.deepEqual(
      ['u', 'mirror', 'other'].map((uid) => found.isUidOf(pod, uid)),
      [true, true, false],
    );
  });
});

describe('the container that a request names', () => {
  it('is the newest of the name, and only while it runs', () => {
    const containers = [{ id: 'new' }, { id: 'old', state: 'exited' }];
    assert.equal(lookup({ containers }).running(pod, 'main', missing).id, 'new');
    const restarting = [
      { id: 'new', state: 'exited' },
      { id: 'old', state: 'running' },
    ];
    assert.throws(() => lookup({ containers: restarting }).running(pod, 'main', missing), missing);
    assert.throws(() => lookup().running(pod, 'main', missing), missing);
  });

  it('is one of the spec: the runtime may hold others', () => {
    const found = lookup({ containers: [{ id: 'a', name: 'foreign' }] });
    assert.throws(() => found.running(pod, 'foreign', missing), missing);
    assert.deepEqual(found.attempts(pod, 'foreign'), []);
  });

  it('has all its attempts, the newest first', () => {
    const containers = [
      { id: 'first', attempt: 0, createdAtMs: 9 },
      { id: 'third', attempt: 1, createdAtMs: 5 },
      { id: 'second', attempt: 1, createdAtMs: 4 },
      { id: 'other', name: 'other', attempt: 7 },
    ];
    assert.deepEqual(
      lookup({ containers })
        .attempts(pod, 'main')
        .map(({ id }) => id),
      ['third', 'second', 'first'],
    );
  });
});

it('ports are forwarded into the sandbox that is ready', () => {
  const sandboxes = [
    { id: 'dead', ready: false },
    { id: 'live', ready: true },
  ];
  assert.equal(lookup({ sandboxes }).readySandbox(pod)?.id, 'live');
  assert.equal(lookup({ sandboxes: sandboxes.slice(0, 1) }).readySandbox(pod), undefined);
});
