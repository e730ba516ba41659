import type { Clock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import type { Span, Tracer } from '../base/tracer.ts';
import type { GrpcChannel, RawCall } from './grpc-channel.ts';
import { codeName } from './grpc-status.ts';
import type { StatusWording } from './grpc-status.ts';
import type { CallOptions, Invoker, MethodDefinition } from './service-binding.ts';

/** One finished call: for metrics and timelines. */
export interface CallRecord {
  /** The RPC's name, such as `RunPodSandbox`. */
  readonly op: string;
  readonly durationMs: number;
  /** Undefined when it succeeded. */
  readonly errorKind: ErrorKind | undefined;
}

export interface CodecInvokerOptions {
  readonly clock: Clock;
  /**
   * How long a call may take unless it brings its own limit; `Infinity` means no deadline. `op` is the name on the
   * wire.
   */
  readonly timeoutMs: (op: string, request: object) => number;
  /** How failures of a call read; as a Go client prints them when not given. */
  readonly wording?: (op: string) => StatusWording;
  /** Called at the end of every call, for streams when they end. Must not throw. */
  readonly observe?: (record: CallRecord) => void;
  /** Traces every call, and hands the trace on to the server. */
  readonly tracer?: Tracer | undefined;
}

/** Spans of calls are upstream's: otelgrpc's name and attributes. */
const SCOPE = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';

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
