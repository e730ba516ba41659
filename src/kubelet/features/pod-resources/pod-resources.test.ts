import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { CreatePodResourcesParts } from './create-pod-resources.ts';
import { createPodResourcesApi } from './create-pod-resources.ts';

const GPU = 'example.com/gpu';

function pod(name: string): Pod {
  const sidecar = { name: 'side', restartPolicy: 'Always' };
  return {
    metadata: { name, namespace: 'ns', uid: `uid-${name}` },
    spec: { initContainers: [{ name: 'init' }, sidecar], containers: [{ name: 'main' }] },
  } as Pod;
}

function world(more: Partial<CreatePodResourcesParts> = {}) {
  const did: string[] = [];
  const near = new Map([
    [0, ['a']],
    [1, ['a']],
    [-1, ['b']],
  ]);
  const api = createPodResourcesApi({
    devices: {
      devicesOf: (uid, container) =>
        uid === 'uid-one' && container === 'main' ? new Map([[GPU, { ids: ['a', 'b'], byNode: near }]]) : new Map(),
      healthy: () => new Map([[GPU, [{ id: 'a', healthy: true, numaNodes: [0, 1] }]]]),
      releaseInactive: () => void did.push('released'),
    },
    cpus: {
      exclusive: (uid) => (uid === 'uid-two' ? new Set([3, 2]) : undefined),
      allocatable: () => new Set<number>(),
    },
    memory: { blocks: () => [], allocatable: () => [] },
    claims: { usedBy: () => [] },
    directory: { live: () => [pod('one'), pod('two')] },
    store: {
      pods: () => [pod('one'), pod('two'), pod('ended')],
      byName: (namespace, name) => (namespace === 'ns' && name === 'one' ? pod('one') : undefined),
    },
    listsActive: true,
    onRequest: (version, call) => void did.push(`${version} ${call ?? ''}`),
    onNotFound: () => void did.push('not found'),
    ...more,
  });
  return { api, did };
}

const nothing = { devices: [], cpus: [], memory: [], claims: [] };

describe('the Pod Resources API', () => {
  it('lists sidecars and containers of active pods with their devices and CPUs', () => {
    const { api, did } = world();
    const devices = [
      { resource: GPU, id: 'a', numaNodes: [0, 1] },
      { resource: GPU, id: 'b', numaNodes: [] },
    ];
    assert.deepEqual(api.list(), [
      {
        name: 'one',
        namespace: 'ns',
        containers: [
          { name: 'side', ...nothing },
          { name: 'main', ...nothing, devices },
        ],
      },
      {
        name: 'two',
        namespace: 'ns',
        containers: ['side', 'main'].map((name) => ({ name, ...nothing, cpus: [2, 3] })),
      },
    ]);
    assert.deepEqual(did, ['v1 list', 'released']);
  });

  it('lists pods that ended where the gate asks for it, and in v1alpha1, there without sidecars', () => {
    assert.equal(world({ listsActive: false }).api.list().length, 3);
    const { api, did } = world();
    const old = api.listOld();
    assert.deepEqual(
      old.map(({ name, containers }) => [name, ...containers.map((container) => container.name)]),
      [
        ['one', 'main'],
        ['two', 'main'],
        ['ended', 'main'],
      ],
    );
    assert.deepEqual(did, ['v1alpha1 ', 'released']);
  });

  it('finds one pod, or says in the words of upstream that there is none', () => {
    const { api, did } = world();
    assert.equal(api.get('ns', 'one').containers.length, 2);
    assert.throws(() => api.get('ns', 'x'), { message: 'pod x in namespace ns not found' });
    assert.deepEqual(did, ['v1 get', 'v1 get', 'not found']);
  });

  it('lists what may be allocated: healthy devices, and nothing of managers that are off', () => {
    const { api } = world();
    assert.deepEqual(api.allocatable(), {
      devices: [{ resource: GPU, id: 'a', numaNodes: [0, 1] }],
      cpus: [],
      memory: [],
    });
  });
});
