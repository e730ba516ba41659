import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import { tempSocket } from '../cri/testing/temp-socket.ts';
import type { NodeApi } from './csi-client.ts';
import { createCsiClient, createRegistrationClient } from './csi-client.ts';
import { serveCsi, serveRegistration } from './testing/csi-server.ts';
import {
  NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type,
  VolumeCapability_AccessMode_Mode,
} from './generated/csi-v1.ts';

async function serveNode(context: TestContext, node: Partial<NodeApi>) {
  const socketPath = tempSocket(context);
  const server = await serveCsi({ socketPath, identity: {}, node });
  const client = createCsiClient({ socketPath, clock: systemClock });
  context.after(() => {
    client.close();
    server.close();
  });
  return client;
}

test('what is published arrives whole, with numbers and maps', async (context) => {
  const seen: unknown[] = [];
  const client = await serveNode(context, {
    nodePublishVolume: async (request) => {
      seen.push(request);
      return {};
    },
    nodeGetCapabilities: async () => ({
      capabilities: [{ rpc: { type: NodeServiceCapability_RPC_Type.STAGE_UNSTAGE_VOLUME } }],
    }),
    nodeGetInfo: async () => ({
      nodeId: 'n1',
      maxVolumesPerNode: 2n ** 40n,
      accessibleTopology: { segments: { zone: 'a' } },
    }),
  });
  const request = {
    volumeId: 'v',
    publishContext: { a: 'b' },
    stagingTargetPath: '/s',
    targetPath: '/t',
    readonly: true,
    secrets: { k: 'v' },
    volumeContext: { c: 'd' },
    volumeCapability: {
      accessMode: { mode: VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '7' },
      block: undefined,
    },
  };
  await client.node.nodePublishVolume(request);
  assert.deepEqual(seen, [NodePublishVolumeRequest.fromPartial(request)]);
  assert.deepEqual(await client.node.nodeGetCapabilities({}), { capabilities: [{ rpc: { type: 1 } }] });
  assert.deepEqual(await client.node.nodeGetInfo({}), {
    nodeId: 'n1',
    maxVolumesPerNode: 2n ** 40n,
    accessibleTopology: { segments: { zone: 'a' } },
  });
});

test('a failure keeps its code, what a driver lacks is Unimplemented, and a call over time is cut off', async (context) => {
  const client = await serveNode(context, {
    nodeStageVolume: () => Promise.reject(new KubeletError('Invalid', 'no such volume')),
    nodeUnstageVolume: () => new Promise(() => undefined),
  });
  await assert.rejects(client.node.nodeStageVolume({ volumeId: 'v' }), {
    kind: 'Invalid',
    message: 'rpc error: code = InvalidArgument desc = no such volume',
  });
  await assert.rejects(client.node.nodeExpandVolume({}), { kind: 'Unimplemented' });
  await assert.rejects(client.node.nodeUnstageVolume({}, { timeoutMs: 30 }), {
    kind: 'Timeout',
    message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
});

test('the fields of CSI have the numbers of the specification', () => {
  const bytes = NodePublishVolumeRequest.encode(
    NodePublishVolumeRequest.fromPartial({
      volumeId: 'v',
      targetPath: 't',
      readonly: true,
      volumeContext: { a: 'b' },
      volumeCapability: { accessMode: { mode: 5 }, block: {} },
    }),
  ).finish();
  // 1: "v" · 4: "t" · 5: { 1: {}, 3: { 1: 5 } } · 6: true · 8: { 1: "a", 2: "b" }
  assert.equal(
    Buffer.from(bytes).toString('hex'),
    '0a0176' + '220174' + '2a060a001a020805' + '3001' + '42060a016112' + '0162',
  );
});

test('a plugin is asked what it is and notified of the result; one that does not listen yet is waited for', async (context) => {
  const socketPath = tempSocket(context);
  const client = createRegistrationClient({ socketPath, clock: systemClock });
  context.after(() => client.close());
  assert.equal(errorKind(await client.channel.ready(20).catch((error: unknown) => error)), 'Timeout');
  const received: unknown[] = [];
  const ready = client.channel.ready(10_000);
  const server = await serveRegistration({
    socketPath,
    registration: {
      getInfo: async () => ({ type: 'CSIPlugin', name: 'x.example', endpoint: '/e', supportedVersions: ['1.0.0'] }),
      notifyRegistrationStatus: async (status) => {
        received.push(status);
        return {};
      },
    },
  });
  context.after(() => server.close());
  await ready;
  assert.deepEqual(await client.registration.getInfo({}), {
    type: 'CSIPlugin',
    name: 'x.example',
    endpoint: '/e',
    supportedVersions: ['1.0.0'],
  });
  await client.registration.notifyRegistrationStatus({ pluginRegistered: true });
  assert.deepEqual(received, [{ pluginRegistered: true, error: '' }]);
});
