import { systemClock } from './clock.ts';
import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';
import { createPinoLog } from './pino-log.ts';
import type { LogOptions } from './pino-log.ts';
import { runToEnd, watchFaults } from './process-faults.ts';
import { nameProcess } from './process-name.ts';
import type { FaultSource, Program } from './process-faults.ts';

/** The parts of the process that a main file uses. */
export interface MainProcess extends FaultSource {
  readonly argv: readonly string[];
  readonly pid: number;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

/** The parsed command line. */
export type ParsedArguments<Options> =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'error'; readonly errors: readonly string[] };

export interface MainOptions<Options> {
  /** The name as in `bin/`, for messages and as the name of the process. */
  readonly name: string;
  /** The name in log lines, at the position of klog's source file. */
  readonly logName: string;
  readonly usage: string;
  readonly parse: (args: readonly string[]) => ParsedArguments<Options>;
  /** Creates the program. If it throws, the program cannot run, and the user gets only this text. */
  readonly create: (options: Options, log: Logger) => Program;
}

const FAILED = 1;
/** The exit code of an invalid command line. */
const MISUSED = 2;

/** Runs a program until a signal or a fault stops it, then ends the process with the exit code. */
export function runMain<Options>(process: MainProcess, main: MainOptions<Options>): Promise<void> {
  return exitAfter(process, async () => {
    const parsed = main.parse(process.argv.slice(2));
    if (parsed.kind === 'error') {
      process.stderr.write(`${parsed.errors.join('\n')}\n${main.name} --help lists the flags\n`);
      return MISUSED;
    }
    if (parsed.kind === 'help') {
      process.stdout.write(main.usage);
      return 0;
    }
    nameProcess(main.name);
    const log = createProcessLog(process, { format: 'text', verbosity: 0, program: main.logName });
    const faults = watchFaults(process, log);
    return runToEnd(main.create(parsed.options, log), {
      faults,
      asked: () => whenSignalled(process),
      exit: (code) => process.exit(code),
      clock: systemClock,
      log,
    });
  });
}

/** Ends the process with the code to which `run` resolves. Without one, the process ends when no work is left. */
export async function exitAfter(process: MainProcess, run: () => Promise<number | undefined>): Promise<void> {
  let code: number | undefined;
  try {
    code = await run();
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    code = FAILED;
  }
  if (code !== undefined) process.exit(code);
}

/** A log on stderr. */
export function createProcessLog(
  process: MainProcess,
  options: Pick<LogOptions, 'format' | 'verbosity' | 'program'>,
): Logger {
  return createPinoLog({
    ...options,
    write: (line) => void process.stderr.write(line),
    nowMs: systemClock.nowMs,
    pid: process.pid,
  });
}

/** Resolves with the first SIGTERM or SIGINT. A second one ends the process at once. */
export function whenSignalled(process: MainProcess): Promise<void> {
  return new Promise((resolve) => {
    let isAsked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(FAILED);
        isAsked = true;
        resolve();
      });
    }
  });
}
