import type { Clock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import type { GrpcChannel, RawCall } from './grpc-channel.ts';
import type { StatusWording } from './grpc-status.ts';
import type { CallOptions, Invoker, MethodDefinition } from './service-binding.ts';

/** One finished call: for metrics and timelines. */
export interface CallRecord {
  /** The RPC's name, such as `RunPodSandbox`. */
  op: string;
  durationMs: number;
  /** Undefined when it succeeded. */
  errorKind: ErrorKind | undefined;
}

export interface CodecInvokerOptions {
  clock: Clock;
  /**
   * How long a call may take unless it brings its own limit; `Infinity` means no deadline. `op` is the name on the
   * wire.
   */
  timeoutMs: (op: string, request: object) => number;
  /** How failures of a call read; as a Go client prints them when not given. */
  wording?: (op: string) => StatusWording;
  /** Called at the end of every call, for streams when they end. Must not throw. */
  observe?: (record: CallRecord) => void;
}

/** Encodes, calls, decodes, and tells `observe`. */
export class CodecInvoker implements Invoker {
  readonly #channel: Pick<GrpcChannel, 'unary' | 'stream'>;
  readonly #options: CodecInvokerOptions;

  constructor(channel: Pick<GrpcChannel, 'unary' | 'stream'>, options: CodecInvokerOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  async unary(path: string, method: MethodDefinition, request: object, options: CallOptions): Promise<unknown> {
    const startMs = this.#options.clock.monotonicMs();
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

  async *stream(
    path: string,
    method: MethodDefinition,
    request: object,
    options: CallOptions,
  ): AsyncGenerator<unknown> {
    const startMs = this.#options.clock.monotonicMs();
    let failure: ErrorKind | undefined;
    try {
      for await (const message of this.#channel.stream(this.#rawCall(path, method, request, options)))
        yield decode(method, message);
    } catch (error) {
      failure = errorKind(error);
      throw error;
    } finally {
      this.#report(method, startMs, failure);
    }
  }

  #rawCall(path: string, method: MethodDefinition, request: object, options: CallOptions): RawCall {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs(method.name, request);
    return {
      op: method.name,
      path,
      request: encode(method, request),
      timeoutMs,
      wording: this.#options.wording?.(method.name) ?? 'full',
      signal: options.signal,
    };
  }

  #report(method: MethodDefinition, startMs: number, kind: ErrorKind | undefined): void {
    this.#options.observe?.({
      op: method.name,
      durationMs: this.#options.clock.monotonicMs() - startMs,
      errorKind: kind,
    });
  }
}

/** A request that cannot be encoded (a number out of range, a wrong type) is the caller's mistake: `Invalid`. */
function encode(method: MethodDefinition, request: object): Uint8Array {
  try {
    return method.requestType.encode(method.requestType.fromPartial(request)).finish();
  } catch (error) {
    throw new KubeletError('Invalid', `${method.name}: the request cannot be encoded`, {
      op: method.name,
      cause: error,
    });
  }
}

function decode(method: MethodDefinition, bytes: Uint8Array): unknown {
  try {
    return method.responseType.decode(bytes);
  } catch (error) {
    throw new KubeletError('Internal', `${method.name}: the answer cannot be decoded`, {
      op: method.name,
      cause: error,
    });
  }
}
