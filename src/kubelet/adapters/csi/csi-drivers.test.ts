import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import { tempSocket } from '../../../cri/testing/temp-socket.ts';
import type { NodeApi } from '../../../csi/csi-client.ts';
import { serveCsi, serveRegistration } from '../../../csi/testing/csi-server.ts';
import { NodeServiceCapability_RPC_Type as Capability, VolumeUsage_Unit } from '../../../csi/generated/csi-v1.ts';
import { grpcCode } from '../../../grpc/grpc-status.ts';
import type { CsiNode, CsiStageRequest } from '../../ports/csi-drivers.ts';
import { createCsiDrivers } from './csi-drivers.ts';
import { createPluginDial } from './csi-plugin-dial.ts';

const LIMIT_MS = 5000;
const request: CsiStageRequest = {
  volumeId: 'v',
  publishContext: { a: 'b' },
  stagingPath: '/s',
  secrets: { k: 's' },
  volumeContext: { c: 'd' },
  capability: {
    accessMode: 'SINGLE_NODE_SINGLE_WRITER',
    access: { kind: 'mount', fsType: 'xfs', mountFlags: ['noatime'], mountGroup: '7' },
  },
};

async function driver(context: TestContext, node: Partial<NodeApi>): Promise<CsiNode> {
  const socketPath = tempSocket(context);
  const server = await serveCsi({ socketPath, identity: {}, node });
  context.after(() => server.close());
  return createCsiDrivers(systemClock).node(socketPath, 'driver');
}

test('requests arrive with every field, of file systems and of raw devices', async (context) => {
  const seen: Record<string, unknown> = {};
  const note = (name: string) => async (message: object) => {
    seen[name] = message;
    return {};
  };
  const node = await driver(context, {
    nodeStageVolume: note('stage'),
    nodePublishVolume: note('publish'),
    nodeUnpublishVolume: note('unpublish'),
    nodeUnstageVolume: note('unstage'),
    nodeExpandVolume: async (message) => (await note('expand')(message), { capacityBytes: 2n ** 41n }),
  });
  await node.stage(request, LIMIT_MS);
  await node.publish(
    {
      ...request,
      capability: { accessMode: 'MULTI_NODE_READER_ONLY', access: { kind: 'block' } },
      targetPath: '/t',
      readOnly: true,
    },
    LIMIT_MS,
  );
  await node.unpublish({ volumeId: 'v', targetPath: '/t' }, LIMIT_MS);
  await node.unstage({ volumeId: 'v', stagingPath: '/s' }, LIMIT_MS);
  const grown = await node.expand(
    {
      volumeId: 'v',
      volumePath: '/p',
      stagingPath: '/s',
      requiredBytes: 2 ** 40,
      capability: request.capability,
      secrets: { e: 'f' },
    },
    LIMIT_MS,
  );
  const mount = {
    accessMode: { mode: 6 },
    block: undefined,
    mount: { fsType: 'xfs', mountFlags: ['noatime'], volumeMountGroup: '7' },
  };
  const shared = {
    volumeId: 'v',
    publishContext: { a: 'b' },
    stagingTargetPath: '/s',
    secrets: { k: 's' },
    volumeContext: { c: 'd' },
  };
  assert.deepEqual(grown, { ok: true, value: 2 ** 41 });
  assert.deepEqual(seen, {
    stage: { ...shared, volumeCapability: mount },
    publish: {
      ...shared,
      targetPath: '/t',
      readonly: true,
      volumeCapability: { accessMode: { mode: 3 }, block: {}, mount: undefined },
    },
    unpublish: { volumeId: 'v', targetPath: '/t' },
    unstage: { volumeId: 'v', stagingTargetPath: '/s' },
    expand: {
      volumeId: 'v',
      volumePath: '/p',
      stagingTargetPath: '/s',
      capacityRange: { requiredBytes: 2n ** 40n, limitBytes: 0n },
      volumeCapability: mount,
      secrets: { e: 'f' },
    },
  });
});

test('responses are read; capabilities and units of a newer specification are ignored', async (context) => {
  const node = await driver(context, {
    nodeGetInfo: async () => ({ nodeId: 'n', maxVolumesPerNode: 9n, accessibleTopology: { segments: { zone: 'a' } } }),
    nodeGetCapabilities: async () => ({
      capabilities: [
        { rpc: { type: Capability.EXPAND_VOLUME } },
        { rpc: { type: 99 as never } },
        { rpc: undefined },
        { rpc: { type: Capability.UNKNOWN } },
      ],
    }),
    nodeGetVolumeStats: async () => ({
      usage: [
        { unit: VolumeUsage_Unit.BYTES, available: 1n, total: 3n, used: 2n },
        { unit: 9 as never, available: 0n, total: 0n, used: 0n },
      ],
      volumeCondition: { abnormal: true, message: 'worn' },
    }),
  });
  assert.deepEqual(await node.getInfo(LIMIT_MS), {
    ok: true,
    value: { nodeId: 'n', maxVolumesPerNode: 9, topology: { zone: 'a' } },
  });
  assert.deepEqual(await node.getCapabilities(LIMIT_MS), { ok: true, value: ['EXPAND_VOLUME'] });
  assert.deepEqual(await node.stats({ volumeId: 'v', volumePath: '/p' }, LIMIT_MS), {
    ok: true,
    value: {
      usage: [
        { unit: 'BYTES', available: 1, total: 3, used: 2 },
        { unit: 'UNKNOWN', available: 0, total: 0, used: 0 },
      ],
      condition: { abnormal: true, message: 'worn' },
    },
  });
});

test('an error keeps its code, a missing response times out, and a missing driver is Unavailable', async (context) => {
  const aborted = new KubeletError('Conflict', 'x', { cause: { code: grpcCode('Aborted'), details: 'pending' } });
  const node = await driver(context, {
    nodeStageVolume: () => Promise.reject(aborted),
    nodeUnstageVolume: () => new Promise(() => undefined),
  });
  assert.deepEqual(await node.stage(request, LIMIT_MS), {
    ok: false,
    code: 'Aborted',
    message: 'rpc error: code = Aborted desc = pending',
  });
  assert.deepEqual(await node.unstage({ volumeId: 'v', stagingPath: '/s' }, 30), {
    ok: false,
    code: 'DeadlineExceeded',
    message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
  const missing = await createCsiDrivers(systemClock).node('/nowhere/csi.sock', 'driver').getInfo(LIMIT_MS);
  assert.equal(missing.ok ? 'ok' : missing.code, 'Unavailable');
});

test('a plugin is dialled, asked for its info and notified', async (context) => {
  const socketPath = tempSocket(context);
  const dial = createPluginDial(systemClock);
  await assert.rejects(dial.dial(socketPath, 20), { kind: 'Timeout', message: 'context deadline exceeded' });
  const received: unknown[] = [];
  const info = { type: 'DRAPlugin', name: 'n', endpoint: '', supportedVersions: ['v1'] };
  const server = await serveRegistration({
    socketPath,
    registration: {
      getInfo: async () => info,
      notifyRegistrationStatus: async (status) => {
        received.push(status);
        return {};
      },
    },
  });
  context.after(() => server.close());
  const connection = await dial.dial(socketPath, LIMIT_MS);
  assert.deepEqual(await connection.getInfo(LIMIT_MS), info);
  await connection.notifyRegistrationStatus({ registered: false, error: 'no' }, LIMIT_MS);
  connection.close();
  assert.deepEqual(received, [{ pluginRegistered: false, error: 'no' }]);
});
