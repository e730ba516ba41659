import { Buffer } from 'node:buffer';
import { KubeletError } from '../base/errors.ts';

/** The longest line. Upstream reads line by line and rejects longer ones. */
const LONGEST_LINE_BYTES = 64 * 1024;

/**
 * The value of `key` in a file of variables; '' if the file does not have it (upstream: kubelet/util/env ParseEnv). The
 * syntax is a small subset of the shell's: `NAME='value'` in single quotes, possibly over several lines, without
 * escapes. White space before the name, a comment after the value, comment lines and blank lines are ignored. A space
 * after the equals sign means an empty value. The first line with the name counts; the rest of the file is not read.
 * Throws `Invalid` with the line number, without any of the content.
 */
export function envFileValue(text: string, key: string): string {
  const lines = new Lines(text);
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const assignment = line.replace(/^[ \t]+/, '');
    if (assignment === '' || assignment.startsWith('#')) continue;
    const equals = assignment.indexOf('=');
    if (equals === -1) throw lines.invalid("missing '='");
    const name = assignment.slice(0, equals);
    if (name === '') throw lines.invalid('empty variable name');
    if (/[ \t]$/.test(name)) throw lines.invalid("whitespace before '=' is not allowed");
    const rest = assignment.slice(equals + 1);
    const value = /^[ \t]/.test(rest) ? '' : quotedValue(lines, rest);
    if (name === key) return value;
  }
  return '';
}

function quotedValue(lines: Lines, first: string): string {
  if (!first.startsWith("'")) throw lines.invalid('value must be enclosed in single quotes');
  const began = lines.number;
  const parts: string[] = [];
  for (let rest: string | undefined = first.slice(1); rest !== undefined; rest = lines.next()) {
    const end = rest.indexOf("'");
    if (end === -1) {
      parts.push(rest, '\n');
      continue;
    }
    if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) throw lines.invalid('unexpected content after closing quote');
    return parts.join('') + rest.slice(0, end);
  }
  throw new KubeletError(
    'Invalid',
    `invalid environment variable format starting at line ${began}: unclosed single quote`,
  );
}

/** Splits lines as Go's scanner does: without line ends (LF or CR LF), and without an empty last line. */
class Lines {
  readonly #text: string;
  #at = 0;
  number = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): string | undefined {
    if (this.#at >= this.#text.length) return undefined;
    const end = this.#text.indexOf('\n', this.#at);
    const line = this.#text.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#text.length : end + 1;
    this.number++;
    if (Buffer.byteLength(line) >= LONGEST_LINE_BYTES) throw this.invalid('token too long');
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  invalid(what: string): KubeletError {
    return new KubeletError('Invalid', `invalid environment variable format at line ${this.number}: ${what}`);
  }
}
