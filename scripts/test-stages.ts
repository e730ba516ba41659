// Runs the stages of `npm test` one after the other, all of them even when one fails, and counts. Each stage is an npm script.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Stage {
  name: string;
  /** Name in package.json. */
  script: string;
  kind: 'check' | 'tests';
}

/** What one stage adds to the last line. */
export interface StageResult {
  passed: number;
  failed: number;
  failedNames: string[];
  skippedNames: string[];
}

const STAGES: readonly Stage[] = [
  { name: 'lint', script: 'lint', kind: 'check' },
  { name: 'types', script: 'types', kind: 'check' },
  { name: 'layers', script: 'layers', kind: 'check' },
  { name: 'unit', script: 'test:unit', kind: 'tests' },
  { name: 'simulation', script: 'test:simulation', kind: 'tests' },
  { name: 'integration', script: 'test:integration', kind: 'tests' },
  { name: 'e2e', script: 'test:e2e', kind: 'tests' },
];

/** Far more than a stage needs; all of them together should take under 15 minutes. */
const STAGE_TIMEOUT_MS = 10 * 60_000;

/**
 * A check counts as one. Tests count as the reporter says; a run that ended badly without a failed test (a crash, no test
 * found, no report) counts as one failure, so that it can never look green.
 */
export function computeStageResult(stage: Stage, exitCode: number, report: string): StageResult {
  if (stage.kind === 'check')
    return {
      passed: exitCode === 0 ? 1 : 0,
      failed: exitCode === 0 ? 0 : 1,
      failedNames: exitCode === 0 ? [] : [stage.name],
      skippedNames: [],
    };
  const summary = parseReport(report);
  if (summary === undefined)
    return { passed: 0, failed: 1, failedNames: [`${stage.name}: ended without a summary`], skippedNames: [] };
  const { counts, failed, skipped } = summary;
  const passed = counts.passed;
  const brokenTests = counts.tests - counts.passed - counts.skipped - counts.todo;
  if (brokenTests > 0) return { passed, failed: brokenTests, failedNames: failed, skippedNames: skipped };
  if (exitCode !== 0 || counts.tests === 0)
    return {
      passed,
      failed: 1,
      failedNames: [counts.tests === 0 ? `${stage.name}: no test was found` : `${stage.name}: exit code ${exitCode}`],
      skippedNames: skipped,
    };
  return { passed, failed: 0, failedNames: [], skippedNames: skipped };
}

interface Summary {
  counts: { tests: number; passed: number; skipped: number; todo: number };
  failed: string[];
  skipped: string[];
}

function parseReport(report: string): Summary | undefined {
  try {
    const value = JSON.parse(report) as Partial<Summary>;
    return value.counts === undefined
      ? undefined
      : { counts: value.counts, failed: value.failed ?? [], skipped: value.skipped ?? [] };
  } catch {
    return undefined; // The run died before its report was written.
  }
}

async function runStage(stage: Stage, folder: string): Promise<StageResult> {
  const reportFile = path.join(folder, `${stage.name}.json`);
  const reporter = path.join(import.meta.dirname, 'test-reporter.mjs');
  const options = `--test-reporter=spec --test-reporter-destination=stdout --test-reporter=${reporter} --test-reporter-destination=${reportFile}`;
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${path.resolve('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  };
  // Given by NODE_OPTIONS, because arguments behind a script's file patterns would be taken for more patterns.
  if (stage.kind === 'tests') environment['NODE_OPTIONS'] = options;
  else delete environment['NODE_OPTIONS'];
  // A group of its own, so that a stage that hangs can be ended with all its children; node:test then says which test hung.
  const child = spawn('npm', ['run', '--silent', stage.script], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: environment,
    detached: true,
  });
  const endGroup = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  const timer = setTimeout(() => {
    console.log(`${stage.name} took longer than ${STAGE_TIMEOUT_MS / 60_000} minutes: ended`);
    endGroup();
  }, STAGE_TIMEOUT_MS);
  const onSignal = (): void => (endGroup(), process.exit(130));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const exitCode = await new Promise<number>((resolve) => {
    child.on('error', () => resolve(127));
    child.on('close', (code) => resolve(code ?? 128));
  });
  clearTimeout(timer);
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  return computeStageResult(stage, exitCode, readOrEmpty(reportFile));
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // A check writes none; a run that crashed neither.
  }
}

async function main(): Promise<void> {
  const only = process.argv.slice(2);
  const stages = only.length === 0 ? STAGES : STAGES.filter((stage) => only.includes(stage.name));
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-test-'));
  const results: { stage: Stage; result: StageResult; seconds: number }[] = [];
  try {
    for (const stage of stages) {
      console.log(`\n== ${stage.name}`);
      const startMs = performance.now();
      results.push({ stage, result: await runStage(stage, folder), seconds: (performance.now() - startMs) / 1000 });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log('\n== summary');
  for (const { stage, result, seconds } of results) {
    console.log(
      `${stage.name.padEnd(12)} ${String(result.passed).padStart(5)} passed ${String(result.failed).padStart(4)} failed ${String(result.skippedNames.length).padStart(4)} skipped ${seconds.toFixed(1).padStart(7)} s`,
    );
    result.failedNames.forEach((name) => console.log(`  FAILED  ${name}`));
    result.skippedNames.forEach((name) => console.log(`  skipped ${name}`));
  }
  if (only.length > 0) console.log(`only: ${stages.map((stage) => stage.name).join(', ')}`);
  const total = (key: 'passed' | 'failed'): number => results.reduce((sum, { result }) => sum + result[key], 0);
  const failed = total('failed');
  console.log(`${total('passed')} passed, ${failed} failed`);
  process.exitCode = failed === 0 && results.length > 0 ? 0 : 1;
}

if (import.meta.main) await main();
