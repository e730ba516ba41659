import { errorMessage } from '../base/errors.ts';
import { DEFAULT_TRACE_ENDPOINT, traceTarget } from './trace-endpoint.ts';
import type { OpenTracer, TracerOptions } from './tracer-options.ts';

/**
 * Loads OpenTelemetry, and connects when the first spans are sent. If that is impossible, it logs the error and returns
 * undefined: the process runs without traces.
 */
export async function openTracer(options: TracerOptions): Promise<OpenTracer | undefined> {
  const { endpoint = DEFAULT_TRACE_ENDPOINT, log } = options;
  const target = traceTarget(endpoint);
  if (target === undefined) {
    log.error('traces are not sent: this kind of address is not supported', { endpoint });
    return undefined;
  }
  try {
    const { createOtlpTracer } = await import('./otlp-tracer.ts');
    log.info('traces are sent', { endpoint, samplingRatePerMillion: options.samplingRatePerMillion });
    return createOtlpTracer({ ...options, target });
  } catch (error) {
    log.error('traces are not sent', { endpoint, error: errorMessage(error) });
    return undefined;
  }
}
