import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { createDeviceRegistrationClient } from '../../../devices/device-plugin-client.ts';
import type { DevicePluginApi } from '../../../devices/device-plugin-client.ts';
import { RegisterRequest } from '../../../devices/generated/device-plugin-v1beta1.ts';
import { GrpcChannel } from '../../../grpc/grpc-channel.ts';
import { serveDevicePlugin } from '../../../devices/testing/device-plugin-server.ts';
import type { DevicePluginRegistration } from '../../ports/device-plugins.ts';
import { KubeletError } from '../../../base/errors.ts';
import { createDevicePlugins } from './device-plugins.ts';

const LIMITS = { timeoutMs: 5000 };
const ports = createDevicePlugins(systemClock);

function socketOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kts-device-plugins-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'plugin.sock');
}

async function connected(context: TestContext, plugin: Partial<DevicePluginApi>) {
  const socketPath = socketOf(context);
  const server = await serveDevicePlugin(socketPath, plugin);
  context.after(() => server.close());
  const connection = await ports.connect(socketPath, LIMITS.timeoutMs);
  context.after(() => connection.close());
  return connection;
}

const response = {
  envs: { A: 'b' },
  mounts: [{ containerPath: '/c', hostPath: '/h', readOnly: true }],
  devices: [{ containerPath: '/dev/c', hostPath: '/dev/h', permissions: 'rw' }],
  annotations: { k: 'v' },
};

describe('device plugins over gRPC', () => {
  test('requests and responses arrive as they were sent', async (context) => {
    const seen: unknown[] = [];
    const connection = await connected(context, {
      getDevicePluginOptions: async () => ({ preStartRequired: true, getPreferredAllocationAvailable: true }),
      allocate: async (request) => {
        seen.push(request);
        return { containerResponses: [{ ...response, cdiDevices: [{ name: 'v/c=n' }] }] };
      },
      getPreferredAllocation: async (request) => {
        seen.push(request);
        return { containerResponses: [{ deviceIDs: ['y'] }] };
      },
      preStartContainer: async (request) => {
        seen.push(request);
        return {};
      },
    });
    const options = await connection.options(LIMITS);
    assert.deepEqual(options, { preStartRequired: true, preferredAllocationAvailable: true });
    const allocation = await connection.allocate(['x', 'y'], LIMITS);
    assert.deepEqual(allocation, { ...response, cdiDevices: ['v/c=n'] });
    const request = { available: ['x', 'y'], mustInclude: ['x'], size: 2 };
    assert.deepEqual(await connection.preferredAllocation(request, LIMITS), ['y']);
    await connection.preStart(['x'], LIMITS);
    assert.deepEqual(seen, [
      { containerRequests: [{ devicesIds: ['x', 'y'] }] },
      { containerRequests: [{ availableDeviceIDs: ['x', 'y'], mustIncludeDeviceIDs: ['x'], allocationSize: 2 }] },
      { devicesIds: ['x'] },
    ]);
    assert.deepEqual(ports.decodeAllocation(ports.encodeAllocation(allocation)), allocation);
  });

  test('lists are read one after another, with health and NUMA nodes; the stream ends with the plugin', async (context) => {
    const connection = await connected(context, {
      async *listAndWatch() {
        yield { devices: [{ ID: 'a', health: 'Healthy', topology: { nodes: [{ ID: 1n }, { ID: 1n }, { ID: 0n }] } }] };
        yield { devices: [{ ID: 'a', health: 'worn', topology: undefined }] };
      },
    });
    const lists: unknown[] = [];
    for await (const devices of connection.listAndWatch(new AbortController().signal)) lists.push(devices);
    assert.deepEqual(lists, [
      [{ id: 'a', healthy: true, numaNodes: [1, 0] }],
      [{ id: 'a', healthy: false, numaNodes: [] }],
    ]);
  });

  test('no response, an error and a list above 4 MiB are errors', async (context) => {
    const connection = await connected(context, {
      allocate: async () => ({ containerResponses: [] }),
      preStartContainer: () => Promise.reject(new KubeletError('Internal', 'cold')),
      async *listAndWatch() {
        const devices = Array.from({ length: 50_000 }, (_, index) => ({
          ID: `${'x'.repeat(90)}${index}`,
          health: '',
          topology: undefined,
        }));
        yield { devices };
      },
    });
    assert.equal(await connection.allocate(['a'], LIMITS), undefined);
    await assert.rejects(connection.preStart(['a'], LIMITS), { message: 'rpc error: code = Unknown desc = cold' });
    await assert.rejects(async () => {
      for await (const _ of connection.listAndWatch(new AbortController().signal)) assert.fail('too large');
    }, /ResourceExhausted/);
  });

  test('a list of many devices ends the stream, however small its message is', async (context) => {
    const connection = await connected(context, {
      async *listAndWatch() {
        const devices = Array.from({ length: 32_769 }, (_, index) => ({
          ID: `${index}`,
          health: '',
          topology: undefined,
        }));
        yield { devices: devices.slice(1) };
        yield { devices };
      },
    });
    const sizes: number[] = [];
    await assert.rejects(async () => {
      for await (const list of connection.listAndWatch(new AbortController().signal)) sizes.push(list.length);
    }, /the plugin lists 32769 devices, more than 32768/);
    assert.deepEqual(sizes, [32_768]);
  });

  test('a socket without a plugin is given up at the limit', async (context) => {
    await assert.rejects(ports.connect(socketOf(context), 50), { kind: 'Timeout' });
  });

  test('registrations are served, and refusals reported; a request above 64 KiB is refused', async (context) => {
    const socketPath = socketOf(context);
    const seen: DevicePluginRegistration[] = [];
    const server = await ports.serveRegistration(socketPath, async (registration) => {
      seen.push(registration);
      if (registration.resource === 'bad') throw new KubeletError('Invalid', 'the ResourceName "bad" is invalid');
    });
    context.after(() => server.close());
    const client = createDeviceRegistrationClient({ socketPath, clock: systemClock });
    context.after(() => client.close());
    const request = { version: 'v1beta1', endpoint: 'e.sock', resourceName: 'a/b' };
    await client.registration.register(request);
    assert.deepEqual(seen, [{ version: 'v1beta1', endpoint: 'e.sock', resource: 'a/b' }]);
    await assert.rejects(client.registration.register({ ...request, resourceName: 'bad' }), /ResourceName "bad"/);
    // Another client, which has no limit of its own.
    const channel = new GrpcChannel({ socketPath, clock: systemClock });
    context.after(() => channel.close());
    const large = RegisterRequest.encode(
      RegisterRequest.fromPartial({ ...request, endpoint: 'x'.repeat(70_000) }),
    ).finish();
    const call = { op: 'Register', path: '/v1beta1.Registration/Register', request: large, ...LIMITS };
    await assert.rejects(channel.unary(call), /ResourceExhausted/);
    assert.equal(seen.length, 2);
    server.close();
    assert.equal(existsSync(socketPath), false);
  });
});
