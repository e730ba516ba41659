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
  /** The headers of a received request, whose trace continues here. */
  readonly incoming?: TraceHeaders;
  /** Requests of unknown clients begin their own trace, linked to that of the client. */
  readonly isPublic?: boolean;
}

/** A named piece of work with a beginning and an end. No method throws. */
export interface Span {
  set(attributes: Readonly<Record<string, SpanValue>>): void;
  /** Marks the span as failed. The first message is kept. */
  fail(error: unknown): void;
  /** Returns the headers for a request to another process, which continues the trace. */
  headers(): TraceHeaders;
  /** Ends the span. A second call does nothing. */
  end(): void;
}

/**
 * Creates spans (OpenTelemetry). A component takes it as an option; without it nothing is traced, at no cost.
 * Invariants: no call throws or waits; a span whose parent has already ended starts its own trace, so that loops
 * started during a span do not stay its children.
 */
export interface Tracer {
  /** Begins a child of the current span. The caller ends it. */
  begin(start: SpanStart): Span;
  /** Runs `work` in a span that is current during it, and ends with it. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

/** Runs `work` in a span, or without one if there is no tracer. */
export function inSpan<T>(tracer: Tracer | undefined, start: SpanStart, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.during(start, work);
}
