import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Controller } from './controller.ts';
import { RateLimitingQueue } from './rate-limiting-queue.ts';
import type { RateLimitingQueueOptions } from './rate-limiting-queue.ts';
import { runController } from './run-controller.ts';
import type { RunControllerOptions } from './run-controller.ts';

export interface QueueControllerParts extends Pick<RateLimitingQueueOptions, 'name' | 'workers'> {
  readonly syncer: Pick<RateLimitingQueueOptions, 'sync' | 'restMs'>;
  /** Nothing is checked before these have their first lists. */
  readonly informers: RunControllerOptions['informers'];
  /** Adds the keys of what may need work. Returns what ends that. */
  readonly follow: (add: (key: string) => void) => readonly (() => void)[];
}

/** A controller with one queue of keys, which its syncer works on. */
export function createQueueController(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  { name, workers, syncer, informers, follow }: QueueControllerParts,
): Controller {
  const queue = new RateLimitingQueue({
    name,
    clock,
    log,
    workers,
    sync: (key) => syncer.sync(key),
    restMs: (key) => syncer.restMs?.(key) ?? 0,
  });
  const ends = follow((key) => queue.add(key));
  return runController({ name: `${name} controller`, log, queues: [queue], informers, ends });
}
