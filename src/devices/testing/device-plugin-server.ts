import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { DevicePluginApi } from '../device-plugin-client.ts';
import { DevicePluginDefinition } from '../generated/device-plugin-v1beta1.ts';

/**
 * Serves a device plugin; what is left out answers `Unimplemented`. A stale socket file must be removed by the caller.
 */
export function serveDevicePlugin(socketPath: string, plugin: Partial<DevicePluginApi>): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(DevicePluginDefinition, plugin));
}
