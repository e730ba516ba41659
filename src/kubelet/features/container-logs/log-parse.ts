import { Buffer } from 'node:buffer';

/** One physical line of a log. */
export interface LogEntry {
  /** A time in RFC 3339 with up to nine digits of fraction, as written. */
  readonly timestamp: string;
  readonly stream: 'stdout' | 'stderr';
  readonly content: Uint8Array;
  /** Whether the program's line continues in the next entry. */
  readonly partial: boolean;
}

export type LogFormat = 'cri' | 'docker-json';

const SPACE = 0x20;
const NEWLINE = 0x0a;
const BRACE = 0x7b;
const COLON = 0x3a;

/** Detects the format by the first character of a line; undefined for an unknown format. */
export function detectFormat(line: Uint8Array): LogFormat | undefined {
  if (line[0] === BRACE) return 'docker-json';
  return parseCriLine(line) === undefined ? undefined : 'cri';
}

export function parseLine(format: LogFormat, line: Uint8Array): LogEntry | undefined {
  return format === 'cri' ? parseCriLine(line) : parseDockerLine(line);
}

/**
 * Parses `TIME STREAM TAGS CONTENT
 * `. With the tag P, the newline is not part of the program's output (CRI's kubelet-cri-logging design).
 */
export function parseCriLine(line: Uint8Array): LogEntry | undefined {
  const first = line.indexOf(SPACE);
  const second = first < 0 ? -1 : line.indexOf(SPACE, first + 1);
  const third = second < 0 ? -1 : line.indexOf(SPACE, second + 1);
  if (third < 0 || first < 20 || first > 40) return undefined;
  const timestamp = latin1(line, 0, first);
  if (timestamp[4] !== '-' || timestamp[10] !== 'T') return undefined;
  const stream = latin1(line, first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const partial = line[second + 1] === 0x50 && (second + 2 === third || line[second + 2] === COLON);
  const end = partial && line[line.length - 1] === NEWLINE ? line.length - 1 : line.length;
  return { timestamp, stream, content: line.subarray(third + 1, end), partial };
}

/**
 * Parses `{"log": "...", "stream": "...", "time": "..."}` of Docker's json-file driver. If `log` has no newline, the
 * line continues in the next entry.
 */
export function parseDockerLine(line: Uint8Array): LogEntry | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(line).toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { log = '', stream, time } = parsed as { log?: unknown; stream?: unknown; time?: unknown };
  if (typeof log !== 'string' || typeof time !== 'string' || (stream !== 'stdout' && stream !== 'stderr'))
    return undefined;
  return { timestamp: time, stream, content: Buffer.from(log), partial: !log.endsWith('\n') };
}

/**
 * Returns the timestamp with exactly nine digits of fraction, as it is printed before lines (upstream:
 * RFC3339NanoFixed).
 */
export function fixedTimestamp(timestamp: string): string {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/.exec(timestamp);
  if (match === null) return timestamp;
  return `${match[1]}.${(match[2] ?? '').padEnd(9, '0')}${match[3]}`;
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let index = start; index < end; index++) text += String.fromCharCode(bytes[index] as number);
  return text;
}
