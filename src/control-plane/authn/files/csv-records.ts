import { KubeletError } from '../../../base/errors.ts';

export interface CsvRecord {
  /** The line of its first character, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * Parses comma-separated values as Go's encoding/csv does. A field may be in quotes, and then contain commas, line
 * breaks and doubled quotes. Empty lines are skipped. Throws `Invalid` with the line. Errors never contain a field,
 * which may be a secret.
 */
export function parseCsv(file: string, content: string): readonly CsvRecord[] {
  const text = content.replaceAll('\r\n', '\n');
  const records: CsvRecord[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '\n') {
      at++;
      line++;
      continue;
    }
    const record: { line: number; fields: string[] } = { line, fields: [] };
    for (;;) {
      const field = text[at] === '"' ? quotedField(file, text, at, line) : plainField(file, text, at, line);
      record.fields.push(field.value);
      line += field.lines;
      at = field.end;
      if (text[at] !== ',') break;
      at++;
    }
    records.push(record);
    if (text[at] === '\n') {
      at++;
      line++;
    }
  }
  return records;
}

interface Field {
  readonly value: string;
  readonly end: number;
  readonly lines: number;
}

const wrong = (file: string, line: number, why: string): KubeletError =>
  new KubeletError('Invalid', `${file}: line ${line}: ${why}`, { op: 'read credentials' });

function plainField(file: string, text: string, start: number, line: number): Field {
  let end = start;
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') end++;
  const value = text.slice(start, end);
  if (value.includes('"')) throw wrong(file, line, 'bare " in non-quoted field');
  return { value, end, lines: 0 };
}

function quotedField(file: string, text: string, start: number, line: number): Field {
  let value = '';
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw wrong(file, line, 'extraneous or missing " in quoted field');
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      at = quote + 1;
      break;
    }
    value += '"';
    at = quote + 2;
  }
  const next = text[at];
  if (next !== undefined && next !== ',' && next !== '\n')
    throw wrong(file, line, 'extraneous or missing " in quoted field');
  return { value, end: at, lines: value.split('\n').length - 1 };
}
