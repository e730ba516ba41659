/** The control plane as a program: flags, log, signals and exit codes. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { runToEnd, watchFaults } from '../../base/process-faults.ts';
import { nameProcess } from '../../base/process-name.ts';
import { systemRandom } from '../../base/random.ts';
import { createProcessLog, exitAfter, whenSignalled } from '../../base/run-main.ts';
import { composeControlPlane } from './compose/compose-control-plane.ts';
import { describeFlags, helpText } from './flags/control-plane-flags.ts';
import { parseCommandLine } from './flags/parse-command-line.ts';
import type { CommandLine } from './flags/parse-command-line.ts';
import { versionInfo } from './version-info.ts';

const FAILED = 1;

async function main(args: readonly string[]): Promise<number | undefined> {
  if (args[0] === 'token') {
    const { tokenCommand } = await import('./token/token-command.ts');
    return tokenCommand(args.slice(1), {
      write: (text) => void process.stdout.write(text),
      defaultDataDir: defaultDataDir(),
      nowMs: Date.now(),
    });
  }
  if (args[0] === 'snapshot') {
    const { snapshotCommand } = await import('./snapshot/snapshot-command.ts');
    return snapshotCommand(args.slice(1), {
      write: (text) => void process.stdout.write(text),
      defaultDataDir: defaultDataDir(),
      nowMs: Date.now(),
      version: versionInfo().gitVersion,
    });
  }
  if (args[0] === 'explain') {
    const { explainCommand } = await import('./explain/explain-command.ts');
    return explainCommand(args.slice(1), {
      out: (text) => void process.stdout.write(text),
      error: (text) => void process.stderr.write(text),
      nowMs: Date.now(),
      env: process.env,
    });
  }
  const parsed = parseCommandLine(args);
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(helpText());
      return 0;
    case 'version':
      process.stdout.write(`Kubernetes ${versionInfo().gitVersion}\n`);
      return 0;
    case 'error':
      for (const error of parsed.errors) process.stderr.write(`${error}\n`);
      return FAILED;
    case 'run':
      return run(parsed.line);
  }
}

/** Runs until it is asked to stop, or until an unhandled error. */
async function run({ options, files, log: { format, verbosity } }: CommandLine): Promise<number> {
  const unusable = files.flatMap(({ flag, file }) => whyNot(`--${flag}`, () => accessSync(file, constants.R_OK)));
  unusable.push(...whyNot('--data-dir', () => void mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })));
  if (unusable.length > 0) {
    for (const error of unusable) process.stderr.write(`${error}\n`);
    return FAILED;
  }
  nameProcess('kubelet-control-plane');
  const log = createProcessLog(process, { format, verbosity, program: 'control-plane' });
  const faults = watchFaults(process, log);
  const controlPlane = await composeControlPlane(options, {
    clock: systemClock,
    random: systemRandom,
    log,
    faults: faults.counts,
  });
  return runToEnd(controlPlane, {
    faults,
    asked: () => whenSignalled(process),
    exit: (code) => process.exit(code),
    clock: systemClock,
    log,
  });
}

/** The default location of the files of a running control plane, for the commands. */
function defaultDataDir(): string {
  return describeFlags().find(({ name }) => name === 'data-dir')?.default ?? '.';
}

/** One reason, or none. */
function whyNot(flag: string, attempt: () => void): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    return [`${flag}: ${errorMessage(error)}`];
  }
}

void exitAfter(process, () => main(process.argv.slice(2)));
