export type SpanValue = string | number | boolean;

/** W3C headers (`traceparent`, `tracestate`, `baggage`), in lower case. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface SpanStart {
  readonly name: string;
  /** The part of the program, as OpenTelemetry's instrumentation scope. */
  readonly scope: string;
  /** `internal` when not given. */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: Readonly<Record<string, SpanValue>>;
  /** Of a request that came in: its trace continues here. */
  readonly incoming?: TraceHeaders;
  /** Requests of unknown clients begin their own trace, linked to that of the client. */
  readonly isPublic?: boolean;
}

/** A named piece of work with a beginning and an end. No method throws. */
export interface Span {
  set(attributes: Readonly<Record<string, SpanValue>>): void;
  /** Marks the span as failed; the first message counts. */
  fail(error: unknown): void;
  /** For a request to another process: it can continue the trace. */
  headers(): TraceHeaders;
  /** A second call does nothing. */
  end(): void;
}

/**
 * Makes spans (OpenTelemetry). Parts take it as an option: where it is absent, nothing is traced and nothing is paid.
 * Invariants: no call throws or waits; a span whose parent has already ended begins its own trace, so that loops that
 * were started during a span are not its children for ever.
 */
export interface Tracer {
  /** A child of the span that is current here. The caller ends it. */
  begin(start: SpanStart): Span;
  /** A span that is current during `work`, and fails and ends with it. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

/** `work` in a span, or as it is where there is no tracer. */
export function inSpan<T>(tracer: Tracer | undefined, start: SpanStart, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.during(start, work);
}
