// Runs the stages of `npm test`, all of them even when one fails, and counts. Each stage is an npm
// script. The stages of `npm run test:vm` run here too, in their machine.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';

const repository = path.join(import.meta.dirname, '..');

export interface Stage {
  readonly name: string;
  readonly command: readonly string[];
  readonly kind: 'check' | 'tests';
  /**
   * Without a value: one after another. `at once`: it waits for other programs most of the time, so all of these run at
   * the same time. `in the background`: it keeps a core busy, so two of these run at a time, from the beginning, with
   * the processor time that the other stages leave.
   */
  readonly runs?: 'at once' | 'in the background';
  /** In the background: as for nice(1). Without it the result does not depend on how fast the stage runs. */
  readonly niceness?: number;
  /** What it prints is shown as it comes; else as a whole when it ends. */
  readonly isShown?: boolean;
  /**
   * Runs test files, which follow it: the failed ones run once more, one at a time, where tests have deadlines or
   * depend on programs that are not ours. See `computeRetry`.
   */
  readonly retry?: readonly string[];
  /** Laid over the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A stage that takes so long hangs. */
  readonly timeoutMs?: number;
}

/** What one stage adds to the last line. */
export interface StageResult {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly Failure[];
  readonly skippedNames: string[];
  /** Failed at first and passed when their files ran again. */
  readonly flaky: readonly Failure[];
  /** Slowest first. */
  readonly slowest: readonly TimedTest[];
  /** The test file that ended last, where each has a process of its own. */
  readonly lastFile?: string;
  /** Of its processes, without those that outlive it or leave their parent, as the shims of containerd do. */
  readonly processorSeconds?: number;
}

export interface Failure {
  readonly name: string;
  /** Of the test. */
  readonly file?: string;
  /** Of the test's error, with the start of its stack. */
  readonly message?: string;
}

export interface TimedTest {
  readonly name: string;
  readonly ms: number;
}

/** A stage that is a script of package.json. */
const npmStage = (
  name: string,
  script: string,
  kind: Stage['kind'],
  more: Pick<Stage, 'runs' | 'niceness' | 'environment' | 'retry'> = {},
): Stage => ({ name, command: ['npm', 'run', '--silent', script], kind, ...more });

/** On a machine that real containerd, etcd, iptables and kubectl keep busy. */
const retry = [
  'node',
  '--import=./scripts/test-hooks.mjs',
  '--test',
  '--test-timeout=600000',
  '--test-concurrency=1',
  '--test-global-setup=test/integration/support/agent-build.ts',
];
/** Some of them have deadlines: a seventh of the processors is left to them at any time. */
const unit = { runs: 'in the background', niceness: 5, retry } as const;
/** In few processes: each compiles the whole agent again. */
const simulation = { runs: 'in the background' } as const;
const allStages: readonly Stage[] = [
  npmStage('unit 1/2', 'test:unit', 'tests', { ...unit, environment: { TEST_SHARD: '1/2' } }),
  npmStage('unit 2/2', 'test:unit', 'tests', { ...unit, environment: { TEST_SHARD: '2/2' } }),
  npmStage('lint', 'lint', 'check', { runs: 'in the background' }),
  npmStage('types', 'types', 'check', { runs: 'in the background' }),
  npmStage('layers', 'layers', 'check', { runs: 'in the background' }),
  // In virtual time: what a slow machine does to it is nothing.
  npmStage('simulation 1/2', 'test:simulation', 'tests', { ...simulation, environment: { TEST_SHARD: '1/2' } }),
  npmStage('simulation 2/2', 'test:simulation', 'tests', { ...simulation, environment: { TEST_SHARD: '2/2' } }),
  npmStage('integration', 'test:integration', 'tests', { runs: 'at once', retry }),
  npmStage('e2e', 'test:e2e', 'tests', { runs: 'at once', retry }),
];

/** All of the stages together should take under 15 minutes. */
const STAGE_TIMEOUT_MS = 20 * 60_000;

/**
 * A check counts as one. Tests count as the reporter says; a run that ended badly without a failed test (a crash, no test
 * found, no report) counts as one failure, so that it can never look green.
 */
export function computeStageResult(stage: Stage, exitCode: number, report: string): StageResult {
  const nothing: StageResult = { passed: 0, failed: 0, failures: [], flaky: [], skippedNames: [], slowest: [] };
  if (stage.kind === 'check')
    return exitCode === 0 ? { ...nothing, passed: 1 } : { ...nothing, failed: 1, failures: [{ name: stage.name }] };
  const summary = parseReport(report);
  if (summary === undefined)
    return { ...nothing, failed: 1, failures: [{ name: `${stage.name}: ended without a summary` }] };
  const { counts, failed, skipped, slowest, lastFile } = summary;
  const result: StageResult = {
    ...nothing,
    passed: counts.passed,
    skippedNames: skipped,
    slowest,
    ...(lastFile !== undefined && { lastFile: path.relative(repository, lastFile) }),
  };
  const brokenTests = counts.tests - counts.passed - counts.skipped - counts.todo;
  if (brokenTests > 0) return { ...result, failed: brokenTests, failures: failed };
  if (counts.tests === 0) return { ...result, failed: 1, failures: [{ name: `${stage.name}: no test was found` }] };
  return exitCode === 0
    ? result
    : { ...result, failed: 1, failures: [{ name: `${stage.name}: exit code ${exitCode}` }] };
}

/** More failed files than this are a fault of the change, and not of a busy machine. */
const MOST_RETRIED_FILES = 2;

/**
 * The files to run again after a stage failed, or an empty list: only failures in named files count, and only a few. A
 * test that passes then is reported as flaky, with its first error: it does not stop a change, and it is a bug to fix.
 */
export function computeRetry(stage: Stage, result: StageResult): string[] {
  if (stage.retry === undefined || result.failures.length < result.failed) return [];
  const files = new Set(result.failures.map((failure) => failure.file ?? ''));
  return files.has('') || files.size > MOST_RETRIED_FILES ? [] : [...files];
}

/** The result of a stage whose failed files ran again with the result `second`. */
export function computeRetried(first: StageResult, second: StageResult): StageResult {
  const processorSeconds = (first.processorSeconds ?? 0) + (second.processorSeconds ?? 0);
  if (second.failed > 0) return { ...first, processorSeconds, failures: [...first.failures, ...second.failures] };
  return {
    ...first,
    processorSeconds,
    passed: first.passed + first.failed,
    failed: 0,
    failures: [],
    flaky: first.failures,
  };
}

interface Summary {
  readonly counts: { tests: number; passed: number; skipped: number; todo: number };
  readonly failed: Failure[];
  readonly skipped: string[];
  readonly slowest: TimedTest[];
  readonly lastFile?: string | undefined;
}

function parseReport(report: string): Summary | undefined {
  try {
    const value = JSON.parse(report) as Partial<Summary>;
    return value.counts === undefined
      ? undefined
      : {
          counts: value.counts,
          failed: value.failed ?? [],
          skipped: value.skipped ?? [],
          slowest: value.slowest ?? [],
          lastFile: value.lastFile,
        };
  } catch {
    return undefined; // The run died before its report was written.
  }
}

async function runStage(stage: Stage, folder: string): Promise<StageResult> {
  const reportFile = path.join(folder, `${stage.name.replaceAll(/\W/g, '-')}.json`);
  const reporter = path.join(import.meta.dirname, 'test-reporter.mjs');
  const options = `--test-reporter=spec --test-reporter-destination=stdout --test-reporter=${reporter} --test-reporter-destination=${reportFile}`;
  const environment: NodeJS.ProcessEnv = {
    // Sources are read by many processes; each would strip their types and compile them again.
    NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/node-compile'),
    // Programs in Go (kubectl, tsc, containerd, runc) live for milliseconds; they spent a quarter of them on garbage.
    GOGC: '400',
    ...process.env,
    ...stage.environment,
    PATH: `${path.resolve('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  };
  // Given by NODE_OPTIONS, because arguments behind a script's file patterns would be taken for more patterns.
  if (stage.kind === 'tests') Object.assign(environment, { NODE_OPTIONS: options, TEST_REPORT: reportFile });
  else delete environment['NODE_OPTIONS'];
  // A group of its own, so that a stage that hangs can be ended with all its children; node:test then says which test hung.
  const timesFile = `${reportFile}.times`;
  const timed = withTimes(stage.command, timesFile);
  const [program = '', ...args] = stage.runs === 'in the background' ? inBackground(timed, stage.niceness) : timed;
  const isShown = stage.isShown === true;
  const child = spawn(program, args, {
    stdio: isShown ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    env: environment,
    detached: true,
  });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
  if (isShown) console.log(`\n== ${stage.name}`);
  const endGroup = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  const timeoutMs = stage.timeoutMs ?? STAGE_TIMEOUT_MS;
  const timer = setTimeout(() => {
    console.log(`${stage.name} took longer than ${timeoutMs / 60_000} minutes: ended`);
    endGroup();
  }, timeoutMs);
  // Stages that run at the same time end their groups, too.
  const onSignal = (): void => (endGroup(), void setImmediate(() => process.exit(130)));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const exitCode = await new Promise<number>((resolve) => {
    child.on('error', () => resolve(127));
    child.on('close', (code) => resolve(code ?? 128));
  });
  clearTimeout(timer);
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  if (!isShown) process.stdout.write(`\n== ${stage.name}\n${Buffer.concat(printed).toString()}`);
  const processorSeconds = parseTimes(readOrEmpty(timesFile));
  return { ...computeStageResult(stage, exitCode, readOrEmpty(reportFile)), processorSeconds };
}

/** The command, which writes into the file how much processor time it and its children took. */
function withTimes(command: readonly string[], file: string): readonly string[] {
  return ['sh', '-c', '"$@"; code=$?; times >"$0"; exit $code', file, ...command];
}

/** The seconds in the second line of what the shell's `times` prints: of its children, as user and as system. */
export function parseTimes(printed: string): number {
  const times = (printed.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g);
  return [...times].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

const LOWEST_PRIORITY = 19;

/**
 * The command with a lower priority. Linux shares the processor first between sessions and then within each
 * (autogroup), so both priorities are needed.
 */
function inBackground(command: readonly string[], niceness = LOWEST_PRIORITY): readonly string[] {
  const script = `echo ${niceness} 2>/dev/null >/proc/self/autogroup; exec nice -n ${niceness} "$@"`;
  return ['sh', '-c', script, 'sh', ...command];
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // A check writes none; a run that crashed neither.
  }
}

async function runWithRetry(stage: Stage, folder: string): Promise<StageResult> {
  const first = await runStage(stage, folder);
  const files = computeRetry(stage, first);
  if (files.length === 0) return first;
  const again: Stage = { ...stage, name: `${stage.name} again`, command: [...(stage.retry ?? []), ...files] };
  return computeRetried(first, await runStage(again, folder));
}

export interface RunOptions {
  /** They stand between the table and the last line. */
  readonly notes?: readonly string[];
  /** What the others share; done while the stages of the background run. They do it themselves when it fails. */
  readonly prepare?: () => Promise<void>;
}

/** Runs them, prints the table, and returns the exit code. */
export async function runStages(stages: readonly Stage[], { notes = [], prepare }: RunOptions = {}): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-test-'));
  const results: { stage: Stage; result: StageResult; seconds: number; endSeconds: number }[] = [];
  const startMs = performance.now();
  const idleBefore = parseIdle(readOrEmpty(PROCESSORS_FILE));
  const run = async (stage: Stage): Promise<void> => {
    const beginMs = performance.now();
    const result = await runWithRetry(stage, folder);
    const endMs = performance.now();
    results.push({ stage, result, seconds: (endMs - beginMs) / 1000, endSeconds: (endMs - startMs) / 1000 });
  };
  try {
    const { atOnce, inOrder, background } = arrange(stages);
    const others = runTwoAtATime(background, run);
    await prepare?.().catch((error: unknown) => console.log('each stage prepares itself, because it failed:', error));
    await Promise.all([runInOrder(inOrder, run), ...atOnce.map(run), others]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log('\n== summary');
  const order = stages.map(({ name }) => name);
  results.sort((left, right) => order.indexOf(left.stage.name) - order.indexOf(right.stage.name));
  for (const { stage, result, seconds, endSeconds } of results) {
    const tail = result.lastFile === undefined ? '' : `, last ${result.lastFile}`;
    console.log(
      `${stage.name.padEnd(12)} ${String(result.passed).padStart(5)} passed ${String(result.failed).padStart(4)} failed ${String(result.skippedNames.length).padStart(4)} skipped ${seconds.toFixed(1).padStart(7)} s ${(result.processorSeconds ?? 0).toFixed(0).padStart(5)} s of processor time, ended after ${endSeconds.toFixed(0).padStart(4)} s${tail}`,
    );
    for (const failure of result.failures) printFailure('FAILED ', failure);
    for (const failure of result.flaky) printFailure('FLAKY  ', failure);
    result.skippedNames.forEach((name) => console.log(`  skipped ${name}`));
  }
  printSlowest(results);
  notes.forEach((note) => console.log(note));
  const total = (key: 'passed' | 'failed'): number => results.reduce((sum, { result }) => sum + result[key], 0);
  const failed = total('failed');
  const idlePercent = computeIdlePercent(idleBefore, parseIdle(readOrEmpty(PROCESSORS_FILE)));
  console.log(
    `in all ${((performance.now() - startMs) / 60_000).toFixed(1)} minutes, processors idle for ${idlePercent.toFixed(0)} % of them`,
  );
  console.log(`${total('passed')} passed, ${failed} failed`);
  return failed === 0 && results.length > 0 ? 0 : 1;
}

const PROCESSORS_FILE = '/proc/stat';

interface ProcessorTicks {
  readonly idle: number;
  readonly all: number;
}

/** From the first line of /proc/stat: what all processors did since the machine started (proc(5)). */
export function parseIdle(stat: string): ProcessorTicks {
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, ...rest] = (stat.split('\n')[0] ?? '')
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const waiting = idle + ioWait;
  return { idle: waiting, all: rest.reduce((sum, ticks) => sum + ticks, user + nice + system + waiting) };
}

export function computeIdlePercent(before: ProcessorTicks, after: ProcessorTicks): number {
  const all = after.all - before.all;
  return all === 0 ? 0 : (100 * (after.idle - before.idle)) / all;
}

interface Arrangement {
  readonly atOnce: Stage[];
  readonly inOrder: Stage[];
  readonly background: Stage[];
}

/**
 * Of stages that run at the same time, the first is shown as it runs. Stages of the background that run without any
 * other have the usual priority, and one alone is shown.
 */
export function arrange(stages: readonly Stage[]): Arrangement {
  const those = (runs: Stage['runs']): Stage[] => stages.filter((stage) => stage.runs === runs);
  const inOrder = those(undefined).map((stage) => ({ ...stage, isShown: true }));
  const atOnce = those('at once').map((stage, at) => ({ ...stage, isShown: at === 0 && inOrder.length === 0 }));
  const background = those('in the background');
  if (background.length < stages.length) return { atOnce, inOrder, background };
  const usual = background.map((stage) => ({ ...stage, runs: undefined, isShown: stages.length === 1 }));
  return { atOnce: [], inOrder: [], background: usual };
}

async function runInOrder(stages: readonly Stage[], run: (stage: Stage) => Promise<void>): Promise<void> {
  for (const stage of stages) await run(stage);
}

/** In their order, as many at a time as this machine has cores, and no more than two. */
async function runTwoAtATime(stages: readonly Stage[], run: (stage: Stage) => Promise<void>): Promise<void> {
  const waiting = [...stages];
  const work = async (): Promise<void> => {
    for (let stage = waiting.shift(); stage !== undefined; stage = waiting.shift()) await run(stage);
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
}

const SHOWN_LINES = 12;

/** The whole message stands far above, in the stage's own output. */
function printFailure(how: string, { name, message }: Failure): void {
  console.log(`  ${how} ${name}`);
  for (const line of (message ?? '').split('\n').slice(0, SHOWN_LINES))
    if (line !== '') console.log(`          ${line}`);
}

const SHOWN_SLOW = 10;

function printSlowest(results: readonly { stage: Stage; result: StageResult }[]): void {
  const all = results.flatMap(({ stage, result }) => result.slowest.map((each) => ({ ...each, stage: stage.name })));
  if (all.length === 0) return;
  console.log('\nslowest tests');
  for (const { stage, name, ms } of all.toSorted((left, right) => right.ms - left.ms).slice(0, SHOWN_SLOW))
    console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${stage.padEnd(11)} ${name}`);
  console.log('');
}

async function main(): Promise<void> {
  const only = process.argv.slice(2);
  const stages =
    only.length === 0 ? allStages : allStages.filter((stage) => only.includes(stage.name.split(' ')[0] ?? ''));
  const notes = only.length === 0 ? [] : [`only: ${stages.map((stage) => stage.name).join(', ')}`];
  const needsPrograms = stages.some((stage) => stage.runs === 'at once');
  const { globalSetup, globalTeardown } = await import('../test/integration/support/agent-build.ts');
  try {
    // Once for all stages, which would each build the programs for themselves.
    process.exitCode = await runStages(stages, { notes, ...(needsPrograms && { prepare: globalSetup }) });
  } finally {
    await globalTeardown();
  }
}

if (import.meta.main) await main();
