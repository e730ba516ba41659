import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { IdentityDefinition, NodeDefinition } from './generated/csi-v1.ts';
import { RegistrationDefinition } from './generated/plugin-registration-v1.ts';

export type IdentityApi = ApiOf<IdentityDefinition>;
export type NodeApi = ApiOf<NodeDefinition>;
export type RegistrationApi = ApiOf<RegistrationDefinition>;

/** Upstream: csi_plugin.go, csiTimeout. */
const DEFAULT_CALL_TIMEOUT_MS = 2 * 60_000;
/**
 * The registration of a plugin only contains a few names. The answers of a driver have the default limit of Go's gRPC.
 */
const MAX_REGISTRATION_BYTES = 64 * 1024;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export interface PluginClientOptions {
  readonly socketPath: string;
  readonly clock: Clock;
}

/** A CSI driver on its socket. It connects on the first call. */
export interface CsiClient {
  readonly identity: IdentityApi;
  readonly node: NodeApi;
  close(): void;
}

/** A plugin on its registration socket. */
export interface RegistrationClient {
  readonly registration: RegistrationApi;
  readonly channel: GrpcChannel;
  close(): void;
}

export function createCsiClient(options: PluginClientOptions): CsiClient {
  const { channel, invoker } = connect(options, MAX_ANSWER_BYTES);
  return {
    identity: bindService(IdentityDefinition, invoker),
    node: bindService(NodeDefinition, invoker),
    close: () => channel.close(),
  };
}

export function createRegistrationClient(options: PluginClientOptions): RegistrationClient {
  const { channel, invoker } = connect(options, MAX_REGISTRATION_BYTES);
  return { registration: bindService(RegistrationDefinition, invoker), channel, close: () => channel.close() };
}

function connect(
  options: PluginClientOptions,
  maxMessageBytes: number,
): { channel: GrpcChannel; invoker: CodecInvoker } {
  const channel = new GrpcChannel({ ...options, maxMessageBytes });
  return {
    channel,
    invoker: new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => DEFAULT_CALL_TIMEOUT_MS }),
  };
}
