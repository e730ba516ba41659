import { errorMessage } from './errors.ts';
import type { Logger } from './log.ts';

/** Logs the failure of work that is not awaited, so that it does not become an unhandled rejection. */
export function inBackground(log: Logger, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error('background work failed', { what, error: errorMessage(error) }));
}
