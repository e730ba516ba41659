/** Imported only when tracing is configured. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context, Span as OtelSpan, TextMapGetter } from '@opentelemetry/api';
import {
  CompositePropagator,
  setGlobalErrorHandler,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withDeadline } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errors.ts';
import type { Span, SpanStart, TraceHeaders } from '../base/tracer.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import type { GrpcTarget } from '../grpc/grpc-channel.ts';
import { createOtlpExporter } from './otlp-exporter.ts';
import type { OpenTracer, TracerOptions } from './tracer-options.ts';

/** How long the process waits for the collector when it ends. */
const CLOSE_LIMIT_MS = 2000;
const PER_MILLION = 1_000_000;
/** The limit for attribute values: texts of objects and errors come from outside. */
const VALUE_LIMIT = 4096;

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT };
const propagator = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});
const getter: TextMapGetter<TraceHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
};

interface Scope {
  readonly context: Context;
  open: boolean;
}

/**
 * Samples by the caller's decision or otherwise by the rate, and sends batches (upstream: component-base tracing
 * NewProvider).
 */
export function createOtlpTracer(options: TracerOptions & { readonly target: GrpcTarget }): OpenTracer {
  const { samplingRatePerMillion: rate, target, service, hostName, clock, log } = options;
  setGlobalErrorHandler(() => undefined); // The exporter logs its failures, once.
  const exporter = createOtlpExporter(new GrpcChannel({ ...target, clock }), log);
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({
      root: rate > 0 ? new TraceIdRatioBasedSampler(rate / PER_MILLION) : new AlwaysOffSampler(),
    }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
    spanLimits: { attributeValueLengthLimit: VALUE_LIMIT },
    resource: resourceFromAttributes({
      'service.name': service,
      ...(hostName !== undefined && { 'host.name': hostName }),
    }),
  });
  const scopes = new AsyncLocalStorage<Scope>();
  const start = (given: SpanStart): { span: OtelSpan; context: Context } => {
    const scope = scopes.getStore();
    const here = scope?.open === true ? scope.context : ROOT_CONTEXT;
    const parent = given.incoming === undefined ? here : propagator.extract(here, given.incoming, getter);
    const remote = trace.getSpanContext(parent);
    const span = provider.getTracer(given.scope).startSpan(
      given.name,
      {
        kind: kinds[given.kind ?? 'internal'],
        ...(given.attributes && { attributes: given.attributes }),
        ...(given.isPublic === true && { root: true, links: remote === undefined ? [] : [{ context: remote }] }),
      },
      parent,
    );
    return { span, context: trace.setSpan(parent, span) };
  };
  return {
    begin: (given) => {
      const { span, context } = start(given);
      return wrap(span, context);
    },
    during: async (given, work) => {
      const { span: otelSpan, context } = start(given);
      const span = wrap(otelSpan, context);
      const scope: Scope = { context, open: true };
      try {
        return await scopes.run(scope, () => work(span));
      } catch (error) {
        span.fail(error);
        throw error;
      } finally {
        scope.open = false;
        span.end();
      }
    },
    close: () => withinLimit(clock, () => provider.shutdown()),
  };
}

function wrap(span: OtelSpan, context: Context): Span {
  let state: 'open' | 'failed' | 'ended' = 'open';
  return {
    set: (attributes) => void span.setAttributes(attributes),
    fail: (error) => {
      if (state !== 'open') return;
      state = 'failed';
      const message = errorMessage(error);
      span.recordException({ name: error instanceof Error ? error.name : 'Error', message });
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    },
    headers: () => {
      const headers: Record<string, string> = {};
      propagator.inject(context, headers, { set: (carrier, name, value) => void (carrier[name] = value) });
      return headers;
    },
    end: () => {
      if (state !== 'ended') span.end();
      state = 'ended';
    },
  };
}

/** A failure means that the collector is unreachable: the last spans are lost. */
async function withinLimit(clock: Clock, work: () => Promise<void>): Promise<void> {
  await withDeadline({ clock, limitMs: CLOSE_LIMIT_MS, op: 'sending the last traces' }, work).catch(() => undefined);
}
