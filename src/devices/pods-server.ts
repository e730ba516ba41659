import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { handlersOf, serveRaw } from '../grpc/grpc-server.ts';
import type { RunningServer } from '../grpc/grpc-server.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { PodsDefinition } from './generated/pods-v1alpha1.ts';

export type PodsGrpcApi = ApiOf<PodsDefinition>;

/** A request is one uid at most. */
const MAX_REQUEST_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;

/** Serves the Pods API. A stale socket must be removed by the caller. */
export function servePods(socketPath: string, api: PodsGrpcApi): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(PodsDefinition, api), { maxMessageBytes: MAX_REQUEST_BYTES });
}

/** The API as programs on the node call it. */
export function createPodsClient(options: {
  socketPath: string;
  clock: Clock;
}): PodsGrpcApi & { readonly close: () => void } {
  const channel = new GrpcChannel(options);
  const invoker = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => CALL_TIMEOUT_MS });
  return { ...bindService(PodsDefinition, invoker), close: () => channel.close() };
}
