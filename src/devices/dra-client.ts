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

/** What gRPC accepts by default in Go. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Upstream: cm/dra/plugin defaultClientCallTimeout. */
const CALL_TIMEOUT_MS = 45_000;

/** The messages of both versions are the same; the name of the service is not. */
export function draDefinition(version: DraVersion): DRAPluginDefinition {
  if (version === 'v1') return DRAPluginDefinition;
  // Only the name on the wire differs.
  return { ...DRAPluginDefinition, fullName: 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin' } as never;
}

export interface DraClient {
  readonly driver: DraDriverApi;
  /** Its stream has no deadline. */
  readonly health: DraHealthApi;
  /** Connects and reports each change of the connection. Returns what ends it. */
  followConnection(listener: (connected: boolean) => void): () => void;
  close(): void;
}

/** A DRA driver behind its socket. Nothing is connected before the first call. */
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
