import type { Logger as PinoLogger } from 'pino';
import { pino } from 'pino';
import type { LogFields, Logger } from './log.ts';
import { printable, shortened } from './printable.ts';

export interface LogOptions {
  /** `text` is klog's line format, which log shippers for kubelets parse; `json` is one object per line. */
  readonly format: 'text' | 'json';
  /** klog's -v: debug lines up to this level are written. */
  readonly verbosity: number;
  /** Writes a line. `isError` means the severity error. */
  readonly write: (line: string, isError: boolean) => void;
  /** Whether a debug line above `verbosity` is written, because of its source. */
  readonly isVerbose?: ((level: number) => boolean) | undefined;
  readonly nowMs: () => number;
  readonly pid: number;
  /** The name that replaces the source file in klog's format. */
  readonly program: string;
}

/**
 * The lowest of the numbers below pino's own levels. Each -v level has one: the higher the klog level, the lower
 * pino's.
 */
const DEBUG_BASE = 20;
/** The beginning of an error line of pino. */
const ERROR_LINE = '{"level":"error"';
/** The maximum length of one value. */
const MAX_TEXT_LENGTH = 16_384;

/** A log whose verbosity can be changed. Loggers created by `with` follow the change. */
export interface AdjustableLogger extends Logger {
  setVerbosity(level: number): void;
}

export function createPinoLog(options: LogOptions): AdjustableLogger {
  const destination = {
    write: (line: string) =>
      options.write(printable(options.format === 'json' ? line : klogLine(line, options)), line.startsWith(ERROR_LINE)),
  };
  const root = pino(
    {
      level: 'info',
      base: null,
      timestamp: () => `,"ts":${options.nowMs()}`,
      messageKey: 'msg',
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const threshold = { verbosity: options.verbosity, isVerbose: options.isVerbose };
  return {
    ...wrap(root, threshold),
    setVerbosity: (level) => {
      threshold.verbosity = level;
    },
  };
}

interface Threshold {
  readonly verbosity: number;
  readonly isVerbose: LogOptions['isVerbose'];
}

function wrap(target: PinoLogger, threshold: Threshold): Logger {
  return {
    error: (message, fields) => target.error(bounded(fields ?? {}), shortened(message, MAX_TEXT_LENGTH)),
    warn: (message, fields) => target.warn(bounded(fields ?? {}), shortened(message, MAX_TEXT_LENGTH)),
    info: (message, fields) => target.info(bounded(fields ?? {}), shortened(message, MAX_TEXT_LENGTH)),
    debug: (level, message, fields) => {
      if (level <= threshold.verbosity || threshold.isVerbose?.(level) === true)
        target.info(bounded({ v: Math.min(level, DEBUG_BASE), ...fields }), shortened(message, MAX_TEXT_LENGTH));
    },
    with: (fields) => wrap(target.child(bounded(fields)), threshold),
  };
}

/** Truncates external text. */
function bounded(fields: LogFields): LogFields {
  const long = Object.entries(fields).filter(
    ([, value]) => typeof value === 'string' && value.length > MAX_TEXT_LENGTH,
  );
  return long.length === 0
    ? fields
    : {
        ...fields,
        ...Object.fromEntries(long.map(([key, value]) => [key, shortened(String(value), MAX_TEXT_LENGTH)])),
      };
}

const letters: ReadonlyMap<string, string> = new Map([
  ['error', 'E'],
  ['warn', 'W'],
  ['info', 'I'],
]);

/** Formats a line in klog's structured text format: `I1121 15:04:05.000000   1234 kubelet] "message" key="value"`. */
function klogLine(json: string, { pid, program }: LogOptions): string {
  const { level, ts, msg, ...fields } = JSON.parse(json) as LogFields & { level: string; ts: number; msg: string };
  const at = new Date(ts);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}000`;
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined);
  const text = pairs
    .map(
      ([key, value]) =>
        ` ${/^[\w./-]+$/.test(key) ? key : JSON.stringify(key)}=${typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)}`,
    )
    .join('');
  return `${letters.get(level) ?? 'I'}${day} ${time} ${String(pid).padStart(7)} ${program}] ${JSON.stringify(msg)}${text}\n`;
}
