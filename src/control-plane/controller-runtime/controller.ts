import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import type { Informers } from '../../api/client/informer.ts';

/**
 * The common dependencies of controllers. The creator of the informers starts them after all controllers have requested
 * theirs.
 */
export interface ControllerOptions {
  readonly client: ApiClient;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creating one starts nothing; `start` waits for its informers. */
export interface Controller {
  start(): void;
  /** Stops permanently; resolves when no pass is running. */
  stop(): Promise<void>;
}
