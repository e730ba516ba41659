import type { Clock } from './clock.ts';
import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';

/** The process, by what is needed of it. */
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
   * Resolves with the first exception that nothing caught. What it was about is half done, so the program is to stop,
   * in order.
   */
  readonly fatal: Promise<'fault'>;
}

/** Logs and counts errors that nothing handled. A rejected promise is a bug, but ends only what waited for it. */
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
  /** Resolves when the program is asked to stop. Called once it has started. */
  readonly asked: () => Promise<void>;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** As of a process that ended by a fault of its own (upstream's programs, and the agent, exit so). */
const FAULTED = 255;
/** After a fault a part may never stop. */
const STOP_MS = 20_000;

/** Runs until the program is asked to stop or something in it was not caught; then stops it in order. The exit code. */
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
