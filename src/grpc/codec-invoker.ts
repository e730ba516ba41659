import type { Clock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import type { Span, Tracer } from '../base/tracer.ts';
import type { GrpcChannel, RawCall } from './grpc-channel.ts';
import { codeName } from './grpc-status.ts';
import type { StatusWording } from './grpc-status.ts';
import type { CallOptions, Invoker, MethodDefinition } from './service-binding.ts';

/** One finished call, for metrics and timelines. */
export interface CallRecord {
  /** The method name, such as `RunPodSandbox`. */
  readonly op: string;
  readonly durationMs: number;
  /** Undefined if the call succeeded. */
  readonly errorKind: ErrorKind | undefined;
}

export interface CodecInvokerOptions {
  readonly clock: Clock;
  /**
   * The deadline of a call that has none of its own, in milliseconds; `Infinity` means none. `op` is the method name in
   * the protocol.
   */
  readonly timeoutMs: (op: string, request: object) => number;
  /** The format of a call's error message; default: that of a Go client. */
  readonly wording?: (op: string) => StatusWording;
  /** Called at the end of each call; for streams, when the stream ends. Must not throw. */
  readonly observe?: (record: CallRecord) => void;
  /** Traces each call, and propagates the trace to the server. */
  readonly tracer?: Tracer | undefined;
}

/** Spans have upstream's names and attributes (otelgrpc). */
const SCOPE = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';

/** Encodes the request, makes the call, decodes the answer, and calls `observe`. */
export class CodecInvoker implements Invoker {
  readonly #channel: Pick<GrpcChannel, 'unary' | 'stream'>;
  readonly #options: CodecInvokerOptions;

  constructor(channel: Pick<GrpcChannel, 'unary' | 'stream'>, options: CodecInvokerOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  async unary(path: string, method: MethodDefinition, request: object, options: CallOptions): Promise<unknown> {
    const startMs = this.#options.clock.monotonicMs();
    const span = this.#span(path);
    try {
      const answer = await this.#channel.unary(this.#rawCall(path, method, request, { ...options, span }));
      const message = decode(method, answer);
      this.#report(method, startMs, undefined);
      endSpan(span, undefined);
      return message;
    } catch (error) {
      this.#report(method, startMs, errorKind(error));
      endSpan(span, { error });
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
    const span = this.#span(path);
    let failure: { readonly error: unknown } | undefined;
    try {
      for await (const message of this.#channel.stream(this.#rawCall(path, method, request, { ...options, span })))
        yield decode(method, message);
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      this.#report(method, startMs, failure === undefined ? undefined : errorKind(failure.error));
      endSpan(span, failure);
    }
  }

  #span(path: string): Span | undefined {
    const name = path.slice(1);
    return this.#options.tracer?.begin({
      name,
      scope: SCOPE,
      kind: 'client',
      attributes: { 'rpc.method': name, 'rpc.system.name': 'grpc' },
    });
  }

  #rawCall(
    path: string,
    method: MethodDefinition,
    request: object,
    options: CallOptions & { readonly span: Span | undefined },
  ): RawCall {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs(method.name, request);
    return {
      op: method.name,
      path,
      request: encode(method, request),
      timeoutMs,
      wording: this.#options.wording?.(method.name) ?? 'full',
      ...(options.span && { metadata: options.span.headers() }),
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

function endSpan(span: Span | undefined, failure: { readonly error: unknown } | undefined): void {
  span?.set({ 'rpc.response.status_code': failure === undefined ? 'OK' : codeName(failure.error) });
  if (failure !== undefined) span?.fail(failure.error);
  span?.end();
}

/** A request that cannot be encoded (a number out of range, a wrong type) is an error of the caller: `Invalid`. */
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
