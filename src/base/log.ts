export type LogFields = Readonly<Record<string, string | number | boolean | undefined | null | readonly string[]>>;

/**
 * Structured logging like klog: a constant message plus key/value fields. Values are never secrets: callers pass names
 * and sizes, not contents.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** Shown at `-v level` and above: 2 is usual in production, 4 is debugging, 6 logs every call. */
  debug(level: number, message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line. */
  with(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
  error: () => {},
  warn: () => {},
  info: () => {},
  debug: () => {},
  with: () => silentLogger,
};
