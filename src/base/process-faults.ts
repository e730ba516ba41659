import type { Clock } from './clock.ts';
import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';

/** The parts of the process that are used here. */
export interface FaultSource {
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (error: unknown) => void): unknown;
}

export interface FaultCounts {
  readonly exceptions: number;
  readonly rejections: number;
}

export interface ProcessFaults {
  readonly counts: FaultCounts;
  /**
   * Resolves with the first uncaught exception. The interrupted work is incomplete, so the program must stop in order.
   */
  readonly fatal: Promise<'fault'>;
}

/** Logs and counts unhandled errors. A rejected promise is a bug, but affects only the code that awaits it. */
export function watchFaults(source: FaultSource, log: Logger): ProcessFaults {
  const counts = { exceptions: 0, rejections: 0 };
  const fatal = Promise.withResolvers<'fault'>();
  source.on('unhandledRejection', (error) => {
    counts.rejections++;
    log.error('unhandled promise rejection; this is a bug', { error: stackOf(error) });
  });
  source.on('uncaughtException', (error) => {
    counts.exceptions++;
    log.error('uncaught exception; stopping', { error: stackOf(error) });
    fatal.resolve('fault');
  });
  return { counts, fatal: fatal.promise };
}

export interface Program {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface ProgramEnd {
  readonly faults: ProcessFaults;
  /** Resolves when the program should stop. It is called once the program has started. */
  readonly asked: () => Promise<void>;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The exit code after an uncaught exception, as in upstream's programs. */
const FAULTED = 255;
/** The time limit for stopping after an uncaught exception, because a part may never stop. */
const STOP_MS = 20_000;

/**
 * Runs until the program should stop or an exception is not caught, then stops the program in order. Resolves to the
 * exit code.
 */
export async function runToEnd(
  { start, stop }: Program,
  { faults, asked, exit, clock, log }: ProgramEnd,
): Promise<number> {
  const starting = start().then(() => 'started' as const);
  const begun = await Promise.race([starting, faults.fatal]);
  const why = begun === 'started' ? await Promise.race([asked(), faults.fatal]) : begun;
  log.info('stopping');
  if (why !== 'fault') {
    await stop();
    return faults.counts.exceptions === 0 ? 0 : FAULTED;
  }
  const timer = clock.setTimer(STOP_MS, () => {
    log.error('the program did not stop in time');
    exit(FAULTED);
  });
  try {
    await stop();
  } catch (error) {
    log.error('the program did not stop cleanly', { error: errorMessage(error) });
  }
  timer.cancel();
  return FAULTED;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
