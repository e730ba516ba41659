import type { TypeFault } from './checker.ts';
import { countCodePoints } from './unicode.ts';

/** How many errors of one expression are reported (upstream: parser/options.go errorReportingLimit). */
const SHOWN_LIMIT = 100;
/** The longest line that is shown in full. */
const LINE_LIMIT = 2_000;

/** The errors of an expression, each with its position and line, as cel-go formats them. */
export function describeFaults(source: string, faults: readonly TypeFault[]): string {
  const sorted = [...faults].sort((left, right) => left.offset - right.offset);
  return sorted
    .slice(0, SHOWN_LIMIT)
    .map((fault) => describe(source, fault))
    .join('\n');
}

function describe(source: string, { message, offset }: TypeFault): string {
  const before = source.slice(0, offset).split('\n');
  const column = countCodePoints(before.at(-1) ?? '');
  const line = source.split('\n', before.length).at(-1) ?? '';
  const head = `ERROR: <input>:${before.length}:${column + 1}: ${message}`;
  return line.length > LINE_LIMIT ? head : `${head}\n | ${line.replaceAll('\t', ' ')}\n | ${'.'.repeat(column)}^`;
}
