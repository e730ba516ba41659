import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';

/** Failures of work that nobody awaits end in the log, never in an unhandled rejection. */
export function inBackground(log: Logger, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error('background work failed', { what, error: errorMessage(error) }));
}
