import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import { createPodResourcesClient } from '../../../devices/pod-resources-server.ts';
import type { PodResourcesApi, PodResourceUse } from '../../ports/pod-resources.ts';
import { createPodResourcesServer } from './pod-resources-server.ts';

const use: PodResourceUse = {
  name: 'p',
  namespace: 'ns',
  containers: [
    {
      name: 'c',
      devices: [{ resource: 'a/b', id: 'x', numaNodes: [1] }],
      cpus: [2],
      memory: [{ type: 'memory', bytes: 2 ** 40, numaNodes: [0] }],
      claims: [
        {
          name: 'claim',
          namespace: 'ns',
          devices: [{ cdiIds: ['v/c=n'], driver: 'd', pool: 'o', device: 'e', shareId: undefined }],
        },
      ],
    },
  ],
};

const wire = {
  name: 'p',
  namespace: 'ns',
  containers: [
    {
      name: 'c',
      devices: [{ resourceName: 'a/b', deviceIds: ['x'], topology: { nodes: [{ ID: 1n }] } }],
      cpuIds: [2n],
      memory: [{ memoryType: 'memory', size: 2n ** 40n, topology: { nodes: [{ ID: 0n }] } }],
      dynamicResources: [
        {
          claimName: 'claim',
          claimNamespace: 'ns',
          claimResources: [
            {
              cdiDevices: [{ name: 'v/c=n' }],
              driverName: 'd',
              poolName: 'o',
              deviceName: 'e',
              shareId: undefined,
            },
          ],
        },
      ],
    },
  ],
};

async function served(context: TestContext, more: Partial<PodResourcesApi> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'kts-pod-resources-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const socketPath = join(folder, 'kubelet.sock');
  const [container] = use.containers;
  const server = await createPodResourcesServer({ monotonicMs: () => 0 }).serve(socketPath, {
    list: () => [use],
    get: () => use,
    allocatable: () => ({ devices: container?.devices ?? [], cpus: [0, 1], memory: container?.memory ?? [] }),
    listOld: () => [use],
    ...more,
  });
  context.after(() => server.close());
  const client = createPodResourcesClient({ socketPath, clock: systemClock });
  context.after(() => client.close());
  return client;
}

test('all of v1 and v1alpha1 is answered on one socket', async (context) => {
  const client = await served(context);
  assert.deepEqual(await client.v1.list({}), { podResources: [wire] });
  assert.deepEqual(await client.v1.get({ podName: 'p', podNamespace: 'ns' }), { podResources: wire });
  const [container] = wire.containers;
  assert.deepEqual(await client.v1.getAllocatableResources({}), {
    devices: container?.devices,
    cpuIds: [0n, 1n],
    memory: container?.memory,
  });
  assert.deepEqual(await client.v1alpha1.list({}), {
    podResources: [
      { name: 'p', namespace: 'ns', containers: [{ name: 'c', devices: [{ resourceName: 'a/b', deviceIds: ['x'] }] }] },
    ],
  });
});

test('requests above the rate are refused with the words of upstream, all versions and calls together', async (context) => {
  const client = await served(context);
  for (let call = 0; call < 5; call++) await Promise.all([client.v1.list({}), client.v1alpha1.list({})]);
  await assert.rejects(client.v1.get({ podName: 'p', podNamespace: 'ns' }), {
    message: 'rpc error: code = ResourceExhausted desc = rejected by rate limit',
  });
});

test('a pod that does not exist is an error with the code Unknown', async (context) => {
  const client = await served(context, {
    get: () => {
      throw new KubeletError('Internal', 'pod x in namespace ns not found');
    },
  });
  await assert.rejects(client.v1.get({ podName: 'x', podNamespace: 'ns' }), {
    message: 'rpc error: code = Unknown desc = pod x in namespace ns not found',
  });
});
