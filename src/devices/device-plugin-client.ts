import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { handlersOf, serveRaw } from '../grpc/grpc-server.ts';
import type { RunningServer } from '../grpc/grpc-server.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { DevicePluginDefinition, RegistrationDefinition } from './generated/device-plugin-v1beta1.ts';

export type DevicePluginApi = ApiOf<DevicePluginDefinition>;
export type DeviceRegistrationApi = ApiOf<RegistrationDefinition>;

/** The default limit of Go's gRPC: enough for a list of tens of thousands of devices. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** A registration only contains a few names. */
const MAX_REGISTRATION_BYTES = 64 * 1024;
const DEFAULT_CALL_TIMEOUT_MS = 60_000;

/** A device plugin on its socket. It connects on the first call. */
export interface DevicePluginClient {
  readonly plugin: DevicePluginApi;
  readonly channel: GrpcChannel;
  close(): void;
}

export function createDevicePluginClient(options: { socketPath: string; clock: Clock }): DevicePluginClient {
  const channel = new GrpcChannel({ ...options, maxMessageBytes: MAX_LIST_BYTES });
  const invoker = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => DEFAULT_CALL_TIMEOUT_MS });
  return { plugin: bindService(DevicePluginDefinition, invoker), channel, close: () => channel.close() };
}

/** A client for the kubelet's registration socket, for plugins. */
export function createDeviceRegistrationClient(options: { socketPath: string; clock: Clock }): {
  readonly registration: DeviceRegistrationApi;
  close(): void;
} {
  const channel = new GrpcChannel({ ...options, maxMessageBytes: MAX_REGISTRATION_BYTES });
  const invoker = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => DEFAULT_CALL_TIMEOUT_MS });
  return { registration: bindService(RegistrationDefinition, invoker), close: () => channel.close() };
}

/** Serves registrations of device plugins. The caller must remove a stale socket first. */
export function serveDeviceRegistration(
  socketPath: string,
  registration: DeviceRegistrationApi,
): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(RegistrationDefinition, registration), {
    maxMessageBytes: MAX_REGISTRATION_BYTES,
  });
}
