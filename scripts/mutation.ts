// npm run test:mutation -- FOLDER|FILE: changes the code of a folder in hundreds of small ways and counts
// how many of them the folder's own tests notice. For people who work on a folder; too slow for `npm test`.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { equivalentMutants } from './mutation/equivalent-mutants.ts';
import type { MutationReport } from './mutation/report.ts';
import { renderScores, scoreOf, summarizeReport } from './mutation/report.ts';

const root = path.resolve(import.meta.dirname, '..');
const tools = path.join(root, 'node_modules/.cache/mutation');
/** The run fails below this score, in percent. Pure planners should reach 90. */
const DEFAULT_AT_LEAST = 80;
/** A run that takes longer has tests that wait: choose a file or a smaller folder. */
const LIMIT_MS = 45 * 60_000;
const NICENESS = 10;
const USAGE = `usage: npm run test:mutation -- FOLDER|FILE [--tests FOLDER]... [--at-least PERCENT] [--concurrency N]
  --tests        also counts what the tests of this other folder notice
  --at-least     fails below this score (${DEFAULT_AT_LEAST})
  --concurrency  processes that try changes (1)`;

export interface MutationTarget {
  /** A folder, or one file of code, whose tests are `<file>.test.ts`, or those of its folder where there is none. */
  readonly code: string;
  readonly tests: readonly string[];
  readonly atLeast: number;
  readonly concurrency: number;
}

const testsIn = (folder: string): string => `${folder}/**/*.test.ts`;

/** Where the tests of this code are. */
function ownTests(code: string): string {
  if (!code.endsWith('.ts')) return testsIn(code);
  const beside = code.replace(/\.ts$/, '.test.ts');
  return existsSync(path.join(root, beside)) ? beside : testsIn(path.dirname(code));
}

/** Configuration of Stryker for one run. Texts are left alone: most of them are words of messages. */
function mutationConfig({ code, tests, concurrency }: MutationTarget, reportFile: string): object {
  const isFile = code.endsWith('.ts');
  return {
    testRunner: 'in-process',
    plugins: [path.join(import.meta.dirname, 'mutation/stryker-plugin.ts')],
    unitTests: [ownTests(code), ...tests.map(testsIn)],
    mutate: isFile
      ? [code]
      : [`${code}/**/*.ts`, ...['*.test.ts', 'testing/**', 'generated/**'].map((not) => `!${code}/**/${not}`)],
    mutator: { excludedMutations: ['StringLiteral'] },
    ignorers: ['not-worth-a-test'],
    coverageAnalysis: 'perTest',
    // Each run imports the tests again, and Node keeps what was imported.
    maxTestRunnerReuse: 250,
    concurrency,
    timeoutMS: 5_000,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: reportFile },
    logLevel: 'warn',
    warnings: { unknownOptions: false, slow: false },
    tempDirName: '.stryker-tmp',
    cleanTempDir: 'always',
    // No TypeScript project is compiled: Node runs the changed files.
    tsconfigFile: 'none',
    ignorePatterns: ['dist', '.data', 'docs', 'changes'],
  };
}

/** Apart from the other development tools: few people need them, and they bring 170 packages. */
function installTools(): void {
  const from = path.join(root, 'test/mutation');
  const isCurrent = (name: string): boolean =>
    existsSync(path.join(tools, name)) &&
    readFileSync(path.join(tools, name), 'utf8') === readFileSync(path.join(from, name), 'utf8');
  if (isCurrent('package-lock.json') && existsSync(path.join(tools, 'node_modules'))) return;
  mkdirSync(tools, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) cpSync(path.join(from, name), path.join(tools, name));
  const { status } = spawnSync('npm', ['ci', '--silent'], { cwd: tools, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm ci failed in ${tools}: its words above say why`);
}

function readTarget(): MutationTarget | undefined {
  const { values, positionals } = parseArgs({
    options: {
      'at-least': { type: 'string' },
      concurrency: { type: 'string' },
      tests: { type: 'string', multiple: true },
    },
    allowPositionals: true,
  });
  const [given, extra] = positionals;
  const atLeast = Number(values['at-least'] ?? DEFAULT_AT_LEAST);
  const concurrency = Number(values.concurrency ?? 1);
  if (given === undefined || extra !== undefined) return undefined;
  if (!(atLeast >= 0 && atLeast <= 100) || !(concurrency >= 1)) return undefined;
  const inRoot = (name: string): string => path.relative(root, path.resolve(name));
  return { code: inRoot(given), tests: (values.tests ?? []).map(inRoot), atLeast, concurrency };
}

function main(): number {
  const target = readTarget();
  if (target === undefined) {
    console.error(USAGE);
    return 2;
  }
  const empty = [ownTests(target.code), ...target.tests.map(testsIn)].find(
    (tests) => globSync(tests, { cwd: root }).length === 0,
  );
  if (empty !== undefined) {
    console.error(`no tests are at ${empty}: name a folder of src that has some`);
    return 2;
  }
  installTools();
  setPriority(NICENESS);
  const scratch = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-mutation-'));
  try {
    return runStryker(target, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Prints what was missed and the scores; returns the exit code. */
function runStryker(target: MutationTarget, scratch: string): number {
  const config = path.join(scratch, 'stryker.json');
  const reportFile = path.join(scratch, 'report.json');
  writeFileSync(config, JSON.stringify(mutationConfig(target, reportFile)));
  const stryker = path.join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const { status } = spawnSync(process.execPath, [stryker, 'run', config], {
    cwd: root,
    stdio: 'inherit',
    timeout: LIMIT_MS,
  });
  if (!existsSync(reportFile)) return status === 0 || status === null ? 1 : status;
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as MutationReport;
  const { scores, missed } = summarizeReport(report, equivalentMutants);
  console.log([...missed, '', renderScores(scores)].join('\n'));
  if (scoreOf(scores) >= target.atLeast) return 0;
  console.error(`fewer than ${target.atLeast} % of the changes were noticed`);
  return 1;
}

if (import.meta.main) process.exitCode = main();
