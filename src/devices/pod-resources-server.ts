import type { Clock } from '../base/clock.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { handlersOf, serveRaw } from '../grpc/grpc-server.ts';
import type { RunningServer } from '../grpc/grpc-server.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ApiOf } from '../grpc/service-binding.ts';
import { PodResourcesListerDefinition as V1Definition } from './generated/pod-resources-v1.ts';
import { PodResourcesListerDefinition as V1Alpha1Definition } from './generated/pod-resources-v1alpha1.ts';

export type PodResourcesApi = ApiOf<V1Definition>;
export type PodResourcesAlphaApi = ApiOf<V1Alpha1Definition>;

/** A request contains at most two names. */
const MAX_REQUEST_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;

/** Serves the Pod Resources API. The caller must remove a stale socket first. */
export function servePodResources(
  socketPath: string,
  api: { v1: PodResourcesApi; v1alpha1: PodResourcesAlphaApi },
): Promise<RunningServer> {
  const handlers = [...handlersOf(V1Definition, api.v1), ...handlersOf(V1Alpha1Definition, api.v1alpha1)];
  return serveRaw(socketPath, handlers, { maxMessageBytes: MAX_REQUEST_BYTES });
}

/** A client of the API, for monitoring agents. */
export function createPodResourcesClient(options: { socketPath: string; clock: Clock }): {
  readonly v1: PodResourcesApi;
  readonly v1alpha1: PodResourcesAlphaApi;
  close(): void;
} {
  const channel = new GrpcChannel(options);
  const invoker = new CodecInvoker(channel, { clock: options.clock, timeoutMs: () => CALL_TIMEOUT_MS });
  return {
    v1: bindService(V1Definition, invoker),
    v1alpha1: bindService(V1Alpha1Definition, invoker),
    close: () => channel.close(),
  };
}
