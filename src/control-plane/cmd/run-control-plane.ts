/** Runs the control plane: flags, log, signals and exit codes. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { runToEnd, watchFaults } from '../../base/process-faults.ts';
import { nameProcess } from '../../base/process-name.ts';
import { systemRandom } from '../../base/random.ts';
import { createProcessLog, whenSignalled } from '../../base/run-main.ts';
import { composeControlPlane } from './compose/compose-control-plane.ts';
import { helpText } from './flags/control-plane-flags.ts';
import { parseCommandLine } from './flags/parse-command-line.ts';
import type { CommandLine } from './flags/parse-command-line.ts';
import { versionInfo } from './version-info.ts';

const FAILED = 1;

/** Runs the control plane, or answers `--help` and `--version`. Returns the exit code. */
export async function runControlPlane(args: readonly string[]): Promise<number> {
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

/** Returns the reason why the attempt fails, or nothing. */
function whyNot(flag: string, attempt: () => void): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    return [`${flag}: ${errorMessage(error)}`];
  }
}
