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
  /** `unix:///path`, or a path. */
  readonly endpoint: string;
  readonly clock: Clock;
  /** The kubelet's `runtimeRequestTimeout`, in milliseconds; default 2 minutes. */
  readonly requestTimeoutMs?: number;
  /** Called at the end of each call; for streams, when the stream ends. Must not throw. */
  readonly observe?: (record: CriCallRecord) => void;
  readonly tracer?: Tracer | undefined;
}

/** A runtime on a unix socket. It connects on the first call, so an agent can be created before its runtime runs. */
export interface CriClient {
  readonly runtime: RuntimeServiceApi;
  readonly images: ImageServiceApi;
  /** The underlying connection, for other services on the same socket (containerd's events). */
  readonly channel: GrpcChannel;
  close(): void;
}

/**
 * Calls without their own deadline get the one of `computeTimeoutMs`. Fails with `Invalid` for an endpoint that is not
 * a unix socket.
 */
export function createCriClient(options: CriClientOptions): CriClient {
  const { clock, observe, tracer, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const channel = new GrpcChannel({ socketPath: parseEndpoint(options.endpoint), clock });
  const invoker = new CodecInvoker(channel, {
    clock,
    timeoutMs: (op, request) => computeTimeoutMs(op, request, requestTimeoutMs),
    // The registry's message is enough when the runtime has no more precise code (upstream: remote_image.go).
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
