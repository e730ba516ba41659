import { parseDurationMs } from '../../../api/duration.ts';
import { quantityNumber } from './quantity-text.ts';

/** The destination of log lines. */
export interface LogRouting {
  /** Whether errors go to stderr and other lines to stdout. */
  readonly splitStream: boolean;
  readonly infoBufferBytes: number;
  readonly flushPeriodMs: number;
}

interface Routing {
  readonly splitStream?: boolean;
  readonly infoBufferSize?: string | number;
}

interface GivenLogging {
  readonly format?: string;
  readonly flushFrequency?: unknown;
  readonly options?: { readonly text?: Routing; readonly json?: Routing };
}

/** Converts a flush period. Whole numbers are nanoseconds, as in Go; undefined for invalid values. */
export function flushPeriodMs(given: unknown): number | undefined {
  if (typeof given === 'number' || typeof given === 'bigint') return Number(given) / 1e6;
  return typeof given === 'string' ? parseDurationMs(given) : undefined;
}

/** Returns the options of the configured log format. Without split streams nothing is buffered. */
export function logRouting({ format, flushFrequency, options }: GivenLogging): LogRouting {
  const routing = format === 'json' ? options?.json : options?.text;
  return {
    splitStream: routing?.splitStream ?? false,
    infoBufferBytes: Math.max(0, quantityNumber(String(routing?.infoBufferSize ?? 0)) ?? 0),
    flushPeriodMs: flushPeriodMs(flushFrequency) ?? 5000,
  };
}
