import { parseDurationMs } from '../../../api/duration.ts';
import { quantityNumber } from './quantity-text.ts';

/** Where lines of the log go. */
export interface LogRouting {
  /** Errors go to stderr and the rest to stdout. */
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

/** Whole numbers are nanoseconds, as in Go; undefined for what is no duration. */
export function flushPeriodMs(given: unknown): number | undefined {
  if (typeof given === 'number' || typeof given === 'bigint') return Number(given) / 1e6;
  return typeof given === 'string' ? parseDurationMs(given) : undefined;
}

/** Where the log goes: the options of the format that is used. Without split streams nothing is buffered. */
export function logRouting({ format, flushFrequency, options }: GivenLogging): LogRouting {
  const routing = format === 'json' ? options?.json : options?.text;
  return {
    splitStream: routing?.splitStream ?? false,
    infoBufferBytes: Math.max(0, quantityNumber(String(routing?.infoBufferSize ?? 0)) ?? 0),
    flushPeriodMs: flushPeriodMs(flushFrequency) ?? 5000,
  };
}
