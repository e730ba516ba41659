import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { DevicePluginApi } from '../device-plugin-client.ts';
import { DevicePluginDefinition } from '../generated/device-plugin-v1beta1.ts';

/** Serves a device plugin; omitted methods return `Unimplemented`. The caller must remove a stale socket file first. */
export function serveDevicePlugin(socketPath: string, plugin: Partial<DevicePluginApi>): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(DevicePluginDefinition, plugin));
}
