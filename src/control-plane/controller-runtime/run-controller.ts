import { inBackground } from '../../base/background.ts';
import type { Logger } from '../../base/log.ts';
import type { Informer } from '../../api/client/informer.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { Controller } from './controller.ts';
import type { RateLimitingQueue } from './rate-limiting-queue.ts';

export interface RunControllerOptions {
  readonly name: string;
  readonly log: Logger;
  readonly queues: readonly Pick<RateLimitingQueue, 'start' | 'stop'>[];
  /** No key is processed before these informers have their first lists. */
  readonly informers: readonly Pick<Informer<ApiObject>, 'whenSynced'>[];
  /** Functions that unsubscribe the handlers that fill the queues. */
  readonly ends: readonly (() => void)[];
}

/** Runs a controller: waits for its informers, processes its queues, and cleans up at the end. */
export function runController({ name, log, queues, informers, ends }: RunControllerOptions): Controller {
  let state: 'idle' | 'started' | 'stopped' = 'idle';
  const begin = async (): Promise<void> => {
    await Promise.all(informers.map((informer) => informer.whenSynced()));
    if (state === 'started') for (const queue of queues) queue.start();
  };
  return {
    start: () => {
      if (state !== 'idle') return;
      state = 'started';
      inBackground(log, `start ${name}`, begin());
    },
    stop: async () => {
      state = 'stopped';
      for (const end of ends) end();
      await Promise.all(queues.map((queue) => queue.stop()));
    },
  };
}
