import type { Clock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import type { ImageServiceApi, RuntimeServiceApi } from './cri-api.ts';
import { computeTimeoutMs, DEFAULT_REQUEST_TIMEOUT_MS } from './call-deadline.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from './generated/cri-v1.ts';
import { GrpcChannel } from './grpc-channel.ts';
import type { RawCall } from './grpc-channel.ts';
import { bindService } from './service-binding.ts';
import type { CallOptions, Invoker, MethodDefinition } from './service-binding.ts';

/** One finished call: for metrics and timelines. */
export interface CriCallRecord {
  /** The RPC's name, such as `RunPodSandbox`. */
  op: string;
  durationMs: number;
  /** Undefined when it succeeded. */
  errorKind: ErrorKind | undefined;
}

export interface CriClientOptions {
  /** `unix:///path` or a bare path. */
  endpoint: string;
  clock: Clock;
  /** The kubelet's `runtimeRequestTimeout`, in milliseconds; 2 minutes if left out. */
  requestTimeoutMs?: number;
  /** Called at the end of every call, for streams when they end. Must not throw. */
  observe?: (record: CriCallRecord) => void;
}

/** A runtime behind a unix socket. Nothing is connected before the first call; an agent may be built before its runtime is up. */
export interface CriClient {
  readonly runtime: RuntimeServiceApi;
  readonly images: ImageServiceApi;
  /** The connection under it, for other services of the same socket (containerd's events). */
  readonly channel: GrpcChannel;
  close(): void;
}

/** Deadlines follow computeTimeoutMs unless a call brings its own. Fails with `Invalid` for an endpoint that is no unix socket. */
export function createCriClient(options: CriClientOptions): CriClient {
  const channel = new GrpcChannel(options);
  const invoker = new CodecInvoker(channel, options);
  return {
    runtime: bindService(RuntimeServiceDefinition, invoker),
    images: bindService(ImageServiceDefinition, invoker),
    channel,
    close: () => channel.close(),
  };
}

/** Encodes, calls, decodes, and tells `observe`. */
class CodecInvoker implements Invoker {
  readonly #channel: GrpcChannel;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  readonly #observe: (record: CriCallRecord) => void;

  constructor(channel: GrpcChannel, options: CriClientOptions) {
    this.#channel = channel;
    this.#clock = options.clock;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
    this.#observe = options.observe ?? ((): void => undefined);
  }

  async unary(path: string, method: MethodDefinition, request: object, options: CallOptions): Promise<unknown> {
    const startMs = this.#clock.monotonicMs();
    try {
      const answer = await this.#channel.unary(this.#rawCall(path, method, request, options));
      const message = decode(method, answer);
      this.#report(method, startMs, undefined);
      return message;
    } catch (error) {
      this.#report(method, startMs, errorKind(error));
      throw error;
    }
  }

  async *stream(path: string, method: MethodDefinition, request: object, options: CallOptions): AsyncGenerator<unknown> {
    const startMs = this.#clock.monotonicMs();
    let failure: ErrorKind | undefined;
    try {
      for await (const message of this.#channel.stream(this.#rawCall(path, method, request, options))) yield decode(method, message);
    } catch (error) {
      failure = errorKind(error);
      throw error;
    } finally {
      this.#report(method, startMs, failure);
    }
  }

  #rawCall(path: string, method: MethodDefinition, request: object, options: CallOptions): RawCall {
    const timeoutMs = options.timeoutMs ?? computeTimeoutMs(method.name, request, this.#requestTimeoutMs);
    return { op: method.name, path, request: encode(method, request), timeoutMs, signal: options.signal };
  }

  #report(method: MethodDefinition, startMs: number, kind: ErrorKind | undefined): void {
    this.#observe({ op: method.name, durationMs: this.#clock.monotonicMs() - startMs, errorKind: kind });
  }
}

/** A request that cannot be encoded (a number out of range, a wrong type) is the caller's mistake: `Invalid`. */
function encode(method: MethodDefinition, request: object): Uint8Array {
  try {
    return method.requestType.encode(method.requestType.fromPartial(request)).finish();
  } catch (error) {
    throw new KubeletError('Invalid', `${method.name}: the request cannot be encoded`, { op: method.name, cause: error });
  }
}

function decode(method: MethodDefinition, bytes: Uint8Array): unknown {
  try {
    return method.responseType.decode(bytes);
  } catch (error) {
    throw new KubeletError('Internal', `${method.name}: the runtime's answer cannot be decoded`, { op: method.name, cause: error });
  }
}
