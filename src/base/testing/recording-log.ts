import type { LogFields, Logger } from '../log.ts';

export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that stores its lines, so that tests can check what was logged, and how often. */
export interface RecordingLog extends Logger {
  readonly lines: LogLine[];
}

export function recordingLog(base: LogFields = {}, lines: LogLine[] = []): RecordingLog {
  const add = (level: LogLine['level'], message: string, fields: LogFields = {}): void => {
    lines.push({ level, message, fields: { ...base, ...fields } });
  };
  return {
    lines,
    error: (message, fields) => add('error', message, fields),
    warn: (message, fields) => add('warn', message, fields),
    info: (message, fields) => add('info', message, fields),
    debug: (_level, message, fields) => add('debug', message, fields),
    with: (fields) => recordingLog({ ...base, ...fields }, lines),
  };
}
