import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { DRAResourceHealthDefinition } from './generated/dra-health-v1alpha1.ts';
import { DRAPluginDefinition } from './generated/dra-v1.ts';

export type DraDriverApi = ApiOf<DRAPluginDefinition>;
export type DraHealthApi = ApiOf<DRAResourceHealthDefinition>;
export type DraVersion = 'v1' | 'v1beta1';

/** The default limit of Go's gRPC. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Upstream: cm/dra/plugin defaultClientCallTimeout. */
const CALL_TIMEOUT_MS = 45_000;

/** The definition of the service. Both versions have the same messages and differ in the name of the service. */
export function draDefinition(version: DraVersion): DRAPluginDefinition {
  if (version === 'v1') return DRAPluginDefinition;
  // Only the name on the wire differs.
  return { ...DRAPluginDefinition, fullName: 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin' } as never;
}

export interface DraClient {
  readonly driver: DraDriverApi;
  /** The health service. Its stream has no deadline. */
  readonly health: DraHealthApi;
  /** Connects, and calls `listener` at each change of the connection. Returns a function that stops this. */
  followConnection(listener: (connected: boolean) => void): () => void;
  close(): void;
}

/** A DRA driver on its socket. It connects on the first call. */
export function createDraClient(options: { socketPath: string; version: DraVersion; clock: Clock }): DraClient {
  const channel = new GrpcChannel({ ...options, maxMessageBytes: MAX_MESSAGE_BYTES });
  const calls = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => CALL_TIMEOUT_MS });
  const streams = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => Infinity });
  return {
    driver: bindService(draDefinition(options.version), calls),
    health: bindService(DRAResourceHealthDefinition, streams),
    followConnection: (listener) => channel.followConnection(listener),
    close: () => channel.close(),
  };
}
