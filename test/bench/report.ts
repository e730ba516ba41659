/** Computes the table for people and the JSON for programs from samples. Pure. */

export interface Summary {
  readonly n: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The goal of a row. `atMost` and `atLeast` are absolute, the others are relative to the floor of the same run. */
export type Target =
  | { kind: 'atMost'; value: number }
  | { kind: 'atLeast'; value: number }
  | { kind: 'floorPlus'; value: number }
  | { kind: 'floorTimes'; value: number };

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly unit: 'ms' | 'µs' | 'mcpu' | 'KiB' | 'MiB' | '/s' | 'events';
  readonly agent: readonly number[];
  /** The samples of the same work by plain calls (of CRI, SQLite, etcd); empty where there is none. */
  readonly floor: readonly number[];
  /** Absent for rows that are only informative. */
  readonly target?: Target;
  /** The values of upstream's program, if known, for comparison only. */
  readonly upstream?: string;
}

export interface Judgement {
  readonly agent: Summary;
  readonly floor: Summary | undefined;
  /** The largest median that meets the goal; for `atLeast` the smallest. */
  readonly limit: number | undefined;
  /** By how much the median misses the limit, in the row's unit; 0 or less meets the goal. */
  readonly over: number | undefined;
}

/** Throws on an empty list: a row without samples is an error. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) throw new Error('no sample was taken');
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? min;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
  return { n: sorted.length, median, min, max };
}

export function judge(row: Row): Judgement {
  const agent = summarize(row.agent);
  const floor = row.floor.length === 0 ? undefined : summarize(row.floor);
  const limit = row.target === undefined ? undefined : computeLimit(row.target, floor);
  return {
    agent,
    floor,
    limit,
    over:
      limit === undefined ? undefined : row.target?.kind === 'atLeast' ? limit - agent.median : agent.median - limit,
  };
}

function computeLimit(target: Target, floor: Summary | undefined): number {
  if (target.kind === 'atMost' || target.kind === 'atLeast') return target.value;
  if (floor === undefined) throw new Error('a target relative to the floor needs a floor');
  return target.kind === 'floorPlus' ? floor.median + target.value : floor.median * target.value;
}

const headings = (subject: string): string[] => [
  '',
  `${subject}: median (min..max)`,
  'floor: median (min..max)',
  'n',
  `${subject} to floor`,
  'goal',
  'verdict',
  'upstream',
];

/** One line per row, with aligned columns. `subject` is the name of what is measured. */
export function renderTable(rows: readonly Row[], subject = 'agent'): string[] {
  const first = headings(subject);
  const cells = [first, ...rows.map(renderRow)];
  const widths = first.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The same table as Markdown, for docs/benchmarks.md. */
export function renderMarkdown(rows: readonly Row[], subject = 'agent'): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const first = headings(subject);
  return [line(first), line(first.map(() => '---')), ...rows.map((row) => line(renderRow(row)))];
}

function renderRow(row: Row): string[] {
  const { agent, floor, over } = judge(row);
  return [
    row.title,
    range(agent, row.unit),
    floor === undefined ? '' : range(floor, row.unit),
    String(agent.n),
    compare(row, agent, floor),
    targetText(row),
    verdict(row, over),
    row.upstream ?? '',
  ];
}

function range({ n, median, min, max }: Summary, unit: Row['unit']): string {
  return n === 1 ? `${number(median)} ${unit}` : `${number(median)} ${unit} (${number(min)}..${number(max)})`;
}

function compare(row: Row, agent: Summary, floor: Summary | undefined): string {
  if (floor === undefined) return '';
  const difference = agent.median - floor.median;
  return `${difference < 0 ? '-' : '+'}${number(Math.abs(difference))} ${row.unit}, x${(agent.median / floor.median).toFixed(2)}`;
}

function targetText({ target, unit }: Row): string {
  switch (target?.kind) {
    case undefined:
      return '';
    case 'atMost':
      return `<= ${number(target.value)} ${unit}`;
    case 'atLeast':
      return `>= ${number(target.value)} ${unit}`;
    case 'floorPlus':
      return `<= floor + ${number(target.value)} ${unit}`;
    case 'floorTimes':
      return `<= floor x ${target.value}`;
  }
}

function verdict(row: Row, over: number | undefined): string {
  if (over === undefined) return '';
  return over <= 0 ? 'PASS' : `${row.target?.kind === 'atLeast' ? 'under' : 'over'} by ${number(over)} ${row.unit}`;
}

function number(value: number): string {
  return Math.abs(value) < 10 ? value.toFixed(1) : String(Math.round(value));
}
