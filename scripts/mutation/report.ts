// What of a run of Stryker is shown: each change that was not noticed on one line, and the score of each file.
import type { EquivalentMutant } from './equivalent-mutants.ts';

interface Position {
  readonly line: number;
  readonly column: number;
}

/** The parts of Stryker's JSON report that are read here (mutation-testing-report-schema). */
export interface MutationReport {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly ReportedMutant[] }>>;
}
interface ReportedMutant {
  readonly status: string;
  readonly replacement?: string;
  /** From the first changed character to the one after the last; lines and columns count from 1. */
  readonly location: { readonly start: Position; readonly end: Position };
}

export interface FileScore {
  readonly file: string;
  readonly noticed: number;
  readonly total: number;
}

export interface MutationSummary {
  readonly scores: readonly FileScore[];
  /** One line for each change that was not noticed. */
  readonly missed: readonly string[];
}

const noticed = new Set(['Killed', 'Timeout', 'RuntimeError']);
const missed = new Set(['Survived', 'NoCoverage']);
const SHOWN_LENGTH = 80;
const SHOWN_BEFORE = 30;

/** Changes in `equivalent` are left out of the score: they do not change what the code does. */
export function summarizeReport(report: MutationReport, equivalent: readonly EquivalentMutant[] = []): MutationSummary {
  const scores: FileScore[] = [];
  const lines: string[] = [];
  for (const [file, { source, mutants }] of Object.entries(report.files)) {
    let count = 0;
    let total = 0;
    for (const mutant of mutants) {
      const change = changeOf(source, mutant);
      if (missed.has(mutant.status)) {
        if (equivalent.some((one) => one.file === file && one.from === change.from && one.to === change.to)) continue;
        const untested = mutant.status === 'NoCoverage' ? ' (no test runs it)' : '';
        lines.push(`${file}:${mutant.location.start.line}: ${showChange(change)}${untested}`);
      } else if (noticed.has(mutant.status)) count += 1;
      else continue;
      total += 1;
    }
    if (total > 0) scores.push({ file, noticed: count, total });
  }
  return { scores, missed: lines };
}

/** Of all changes, in percent, rounded down; 100 where there was nothing to change. */
export function scoreOf(scores: readonly Pick<FileScore, 'noticed' | 'total'>[]): number {
  const total = scores.reduce((sum, score) => sum + score.total, 0);
  const found = scores.reduce((sum, score) => sum + score.noticed, 0);
  return total === 0 ? 100 : Math.floor((found / total) * 100);
}

/** The lines with the changed code as they are, and as the mutant has them; each run of white space is one space. */
function changeOf(source: string, { location, replacement = '' }: ReportedMutant): { from: string; to: string } {
  const { start, end } = location;
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const first = (lines[0] ?? '').slice(0, start.column - 1);
  const last = (lines.at(-1) ?? '').slice(end.column - 1);
  const tidy = (text: string): string => text.replace(/\s+/g, ' ').trim();
  return { from: tidy(lines.join('\n')), to: tidy(first + replacement + last) };
}

/** Both texts from a little before their first difference. */
function showChange({ from, to }: { readonly from: string; readonly to: string }): string {
  let same = 0;
  while (same < from.length && from[same] === to[same]) same += 1;
  const start = from.length <= SHOWN_LENGTH ? 0 : Math.max(0, same - SHOWN_BEFORE);
  const shorten = (text: string): string =>
    `${start > 0 ? '...' : ''}${text.slice(start, start + SHOWN_LENGTH)}${text.length > start + SHOWN_LENGTH ? '...' : ''}`;
  return `${shorten(from)}  =>  ${shorten(to)}`;
}

/** The table at the end, the lowest score first. */
export function renderScores(scores: readonly FileScore[]): string {
  const rows = scores
    .map((score) => ({ ...score, percent: scoreOf([score]) }))
    .toSorted((left, right) => left.percent - right.percent || left.file.localeCompare(right.file));
  const lines = rows.map(({ file, percent, ...score }) => `${row(percent, score)}  ${file}`);
  const all = {
    noticed: rows.reduce((sum, score) => sum + score.noticed, 0),
    total: rows.reduce((sum, score) => sum + score.total, 0),
  };
  return [...lines, `${row(scoreOf(scores), all)}  all`].join('\n');
}

const row = (percent: number, { noticed: found, total }: Pick<FileScore, 'noticed' | 'total'>): string =>
  `${String(percent).padStart(4)} %  ${`${found}/${total}`.padStart(11)}`;
