import type { Clock } from '../base/clock.ts';
import type { Tracer } from '../base/tracer.ts';
import { CodecInvoker } from '../grpc/codec-invoker.ts';
import type { CallRecord } from '../grpc/codec-invoker.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { bindService } from '../grpc/service-binding.ts';
import type { ImageServiceApi, RuntimeServiceApi } from './cri-api.ts';
import { computeTimeoutMs, DEFAULT_REQUEST_TIMEOUT_MS } from './call-deadline.ts';
import { parseEndpoint } from './endpoint.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from './generated/cri-v1.ts';

export type CriCallRecord = CallRecord;

export interface CriClientOptions {
  /** `unix:///path` or a bare path. */
  readonly endpoint: string;
  readonly clock: Clock;
  /** The kubelet's `runtimeRequestTimeout`, in milliseconds; 2 minutes if left out. */
  readonly requestTimeoutMs?: number;
  /** Called at the end of every call, for streams when they end. Must not throw. */
  readonly observe?: (record: CriCallRecord) => void;
  readonly tracer?: Tracer | undefined;
}

/**
 * A runtime behind a unix socket. Nothing is connected before the first call; an agent may be built before its runtime
 * is up.
 */
export interface CriClient {
  readonly runtime: RuntimeServiceApi;
  readonly images: ImageServiceApi;
  /** The connection under it, for other services of the same socket (containerd's events). */
  readonly channel: GrpcChannel;
  close(): void;
}

/**
 * Deadlines follow computeTimeoutMs unless a call brings its own. Fails with `Invalid` for an endpoint that is no unix
 * socket.
 */
export function createCriClient(options: CriClientOptions): CriClient {
  const { clock, observe, tracer, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const channel = new GrpcChannel({ socketPath: parseEndpoint(options.endpoint), clock });
  const invoker = new CodecInvoker(channel, {
    clock,
    timeoutMs: (op, request) => computeTimeoutMs(op, request, requestTimeoutMs),
    // Registries' own words are enough where the runtime has no better code (upstream: remote_image.go).
    wording: (op) => (op === 'PullImage' ? 'bareUnknown' : 'full'),
    ...(observe === undefined ? {} : { observe }),
    tracer,
  });
  return {
    runtime: bindService(RuntimeServiceDefinition, invoker),
    images: bindService(ImageServiceDefinition, invoker),
    channel,
    close: () => channel.close(),
  };
}
