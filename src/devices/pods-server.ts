import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { handlersOf, serveRaw } from '../grpc/grpc-server.ts';
import type { RunningServer } from '../grpc/grpc-server.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { PodsDefinition } from './generated/pods-v1alpha1.ts';

export type PodsGrpcApi = ApiOf<PodsDefinition>;

/** A request contains at most one uid. */
const MAX_REQUEST_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;

/** Serves the Pods API. The caller must remove a stale socket first. */
export function servePods(socketPath: string, api: PodsGrpcApi): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(PodsDefinition, api), { maxMessageBytes: MAX_REQUEST_BYTES });
}

/** A client of the API, for programs on the node. */
export function createPodsClient(options: {
  socketPath: string;
  clock: Clock;
}): PodsGrpcApi & { readonly close: () => void } {
  const channel = new GrpcChannel(options);
  const invoker = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => CALL_TIMEOUT_MS });
  return { ...bindService(PodsDefinition, invoker), close: () => channel.close() };
}
