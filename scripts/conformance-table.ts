/** The results in docs/conformance.md and docs/node-conformance.md, from the JSON reports of Ginkgo. The document itself keeps what earlier runs had. Pure. */

export type SpecState = 'passed' | 'failed' | 'not run';

export interface SpecResult {
  /** All texts of the spec, as upstream's conformance.yaml has them. */
  readonly name: string;
  readonly state: SpecState;
  readonly seconds: number;
  /** Why it failed or did not run: one line. */
  readonly reason: string;
  /** Date and commit. */
  readonly run: string;
}

/** Of the part of a report that is read. */
interface ReportedSpec {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string } | null;
  readonly CapturedGinkgoWriterOutput?: string;
}

interface ReportedSuite {
  readonly StartTime: string;
  readonly SpecReports: readonly ReportedSpec[] | null;
}

/** A document with the results of one suite. */
export interface SuiteDocument {
  readonly file: string;
  /** Whether a spec belongs to it, by its texts. */
  readonly has: (name: string) => boolean;
}

export const conformance: SuiteDocument = {
  file: 'docs/conformance.md',
  has: (name) => name.includes('[Conformance]'),
};
/** All specs of e2e_node. */
export const nodeConformance: SuiteDocument = { file: 'docs/node-conformance.md', has: () => true };

const LONGEST_REASON = 160;
const NANOSECONDS = 1e9;
/** Some specs return without a failure when they cannot create their kind. They have tried nothing. */
const endedEarly = /Unexpected error while creating CustomResourceDefinition: (.*)/;
const BEGIN = '<!-- results: node scripts/conformance.ts -->';
const END = '<!-- end of results -->';
const notRunYet = (name: string): SpecResult => ({ name, state: 'not run', seconds: 0, reason: '', run: '' });

/** One result for each spec of the suite; those that the run left out are "not run". */
export function readReport(text: string, commit: string, suite: SuiteDocument): SpecResult[] {
  const suites = JSON.parse(text) as readonly ReportedSuite[];
  return suites.flatMap(({ StartTime, SpecReports }) =>
    (SpecReports ?? [])
      .filter((spec) => spec.LeafNodeType === 'It')
      .map((spec) => ({ spec, name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ') }))
      .filter(({ name }) => suite.has(name))
      .map(({ spec, name }) => readSpec(spec, name, `${StartTime.slice(0, 10)} ${commit}`)),
  );
}

/** A spec that skips itself says why; one that the run left out does not. Neither has passed. */
function readSpec(spec: ReportedSpec, name: string, run: string): SpecResult {
  const { State, RunTime, Failure } = spec;
  const reason = firstLine(Failure?.Message ?? '');
  const early = endedEarly.exec(spec.CapturedGinkgoWriterOutput ?? '')?.[1];
  if (State === 'passed' && early !== undefined)
    return { name, state: 'not run', seconds: 0, reason: firstLine(`ended early: ${early}`), run };
  if (State === 'passed') return { name, state: 'passed', seconds: RunTime / NANOSECONDS, reason: '', run };
  if (State === 'pending' || (State === 'skipped' && reason === '')) return notRunYet(name);
  if (State === 'skipped') return { name, state: 'not run', seconds: 0, reason: `skipped: ${reason}`, run };
  return { name, state: 'failed', seconds: RunTime / NANOSECONDS, reason: reason === '' ? State : reason, run };
}

/** Without addresses in memory, and without the objects that the suite prints, which name files of its machine. */
function firstLine(message: string): string {
  const line = message
    .replace(/\s+/g, ' ')
    .replace(/(<\*[\w.]+) \| 0x[0-9a-f]+>/g, '$1>')
    .replace(/: metadata:.*/, ' …')
    .trim();
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}

/** The later result of a spec counts, except that one which was not run replaces nothing. Sorted by name. */
export function mergeResults(...runs: readonly (readonly SpecResult[])[]): SpecResult[] {
  const merged = new Map<string, SpecResult>();
  for (const result of runs.flat()) if (result.run !== '' || !merged.has(result.name)) merged.set(result.name, result);
  return [...merged.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** What `withResults` has written, read again. */
export function readDocument(document: string): SpecResult[] {
  return cutDocument(document)
    .section.split('\n')
    .flatMap((line) => {
      const [, name, state, seconds = '', reason = '', run = ''] = line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll('\\|', '|'));
      if (name?.startsWith('`') !== true || !isState(state)) return [];
      return [{ name: unquote(name), state, seconds: Number(seconds), reason: unquote(reason), run }];
    });
}

const isState = (text: string | undefined): text is SpecState =>
  text === 'passed' || text === 'failed' || text === 'not run';
/** Text in backquotes; two of them, and spaces, where it has some itself. */
function quote(text: string): string {
  if (text === '') return '';
  const cell = text.replaceAll('|', '\\|');
  return cell.includes('`') ? `\`\` ${cell} \`\`` : `\`${cell}\``;
}
function unquote(cell: string): string {
  if (cell.startsWith('`` ')) return cell.slice(3, -3);
  return cell.startsWith('`') ? cell.slice(1, -1) : cell;
}

/** What stands before, between and behind the two lines. */
function cutDocument(document: string): { before: string; section: string; behind: string } {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`the document needs the lines "${BEGIN}" and "${END}", between which the results stand`);
  const start = begin + BEGIN.length;
  return { before: document.slice(0, start), section: document.slice(start, end), behind: document.slice(end) };
}

/** The document with the count, the specs that did not pass, and the table of all. */
export function withResults(document: string, results: readonly SpecResult[]): string {
  const { before, behind } = cutDocument(document);
  return `${before}\n\n${renderResults(results)}\n\n${behind}`;
}

function renderResults(results: readonly SpecResult[]): string {
  const count = (state: SpecState): number => results.filter((result) => result.state === state).length;
  const commits = new Set(results.filter(({ run }) => run !== '').map(({ run }) => run.split(' ')[1]));
  const row = ({ name, state, seconds, reason, run }: SpecResult): string =>
    `| ${[quote(name), state, state === 'not run' ? '' : seconds.toFixed(1), quote(reason), run].join(' | ')} |`;
  return [
    `**${count('passed')} of ${results.length} specs passed**, ${count('failed')} failed, ${count('not run')} did not run. Commits in these runs: ${commits.size}.`,
    '',
    '| Spec | Result | Seconds | Reason | Run |',
    '|---|---|---|---|---|',
    ...results.map(row),
  ].join('\n');
}
