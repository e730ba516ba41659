import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { StorageEvent } from './storage.ts';

export interface WatchListener {
  readonly prefix: string;
  readonly listener: (events: readonly StorageEvent[], revision: number) => void;
}

/** Notifies one listener of its events. If it throws, only its own call is lost. */
export function tell(
  { prefix, listener }: WatchListener,
  events: readonly StorageEvent[],
  revision: number,
  log: Logger,
): void {
  try {
    listener(prefix === '' ? events : events.filter(({ key }) => key.startsWith(prefix)), revision);
  } catch (error) {
    log.error('A watcher of the store failed', { prefix, error: errorMessage(error) });
  }
}
