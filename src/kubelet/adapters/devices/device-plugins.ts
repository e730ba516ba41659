import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { DevicePluginApi, DevicePluginClient } from '../../../devices/device-plugin-client.ts';
import { createDevicePluginClient, serveDeviceRegistration } from '../../../devices/device-plugin-client.ts';
import type { Device } from '../../../devices/generated/device-plugin-v1beta1.ts';
import { ContainerAllocateResponse } from '../../../devices/generated/device-plugin-v1beta1.ts';
import type {
  DeviceAllocation,
  DevicePluginConnection,
  DevicePlugins,
  PluginDevice,
} from '../../ports/device-plugins.ts';

const HEALTHY = 'Healthy';
/**
 * The maximum number of devices in a list. A message of 4 MiB could contain 700,000, which would hold the event loop
 * for most of a second.
 */
const MOST_DEVICES = 32_768;

/** Calls device plugins v1beta1 over gRPC on unix sockets. */
export function createDevicePlugins(clock: Clock): DevicePlugins {
  return {
    async connect(socketPath, timeoutMs) {
      const client = createDevicePluginClient({ socketPath, clock });
      try {
        await client.channel.ready(timeoutMs);
      } catch (error) {
        client.close();
        throw error;
      }
      return connectionOf(client);
    },
    serveRegistration: (socketPath, register) =>
      serveDeviceRegistration(socketPath, {
        register: async ({ version = '', endpoint = '', resourceName = '' }) => {
          await register({ version, endpoint, resource: resourceName });
          return {};
        },
      }),
    encodeAllocation: (allocation) => ContainerAllocateResponse.encode(messageOf(allocation)).finish(),
    decodeAllocation: (bytes) => allocationOf(ContainerAllocateResponse.decode(bytes)),
  };
}

function connectionOf({ plugin, close }: DevicePluginClient): DevicePluginConnection {
  return {
    options: async (limits) => {
      const { preStartRequired, getPreferredAllocationAvailable } = await plugin.getDevicePluginOptions({}, limits);
      return { preStartRequired, preferredAllocationAvailable: getPreferredAllocationAvailable };
    },
    listAndWatch: (signal) => listAndWatch(plugin, signal),
    allocate: async (ids, limits) => {
      const { containerResponses } = await plugin.allocate({ containerRequests: [{ devicesIds: [...ids] }] }, limits);
      const [first] = containerResponses;
      return first === undefined ? undefined : allocationOf(first);
    },
    preferredAllocation: async ({ available, mustInclude, size }, limits) => {
      const request = {
        availableDeviceIDs: [...available],
        mustIncludeDeviceIDs: [...mustInclude],
        allocationSize: size,
      };
      const { containerResponses } = await plugin.getPreferredAllocation({ containerRequests: [request] }, limits);
      return containerResponses[0]?.deviceIDs ?? [];
    },
    preStart: async (ids, limits) => void (await plugin.preStartContainer({ devicesIds: [...ids] }, limits)),
    close,
  };
}

async function* listAndWatch(plugin: DevicePluginApi, signal: AbortSignal): AsyncGenerator<readonly PluginDevice[]> {
  for await (const { devices } of plugin.listAndWatch({}, { signal, timeoutMs: Infinity })) {
    if (devices.length > MOST_DEVICES)
      throw new KubeletError('Invalid', `the plugin lists ${devices.length} devices, more than ${MOST_DEVICES}`);
    yield devices.map(deviceOf);
  }
}

function deviceOf({ ID: id, health, topology }: Device): PluginDevice {
  return {
    id,
    healthy: health === HEALTHY,
    numaNodes: [...new Set((topology?.nodes ?? []).map(({ ID: node }) => Number(node)))],
  };
}

function allocationOf(response: ContainerAllocateResponse): DeviceAllocation {
  const { envs, mounts, devices, annotations, cdiDevices } = response;
  return { envs, mounts, devices, annotations, cdiDevices: cdiDevices.map(({ name }) => name) };
}

function messageOf({ envs, mounts, devices, annotations, cdiDevices }: DeviceAllocation): ContainerAllocateResponse {
  return {
    envs: { ...envs },
    mounts: [...mounts],
    devices: [...devices],
    annotations: { ...annotations },
    cdiDevices: cdiDevices.map((name) => ({ name })),
  };
}
