import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import type { Storage } from './storage.ts';

/** Upstream: --etcd-compaction-interval. */
const COMPACT_EVERY_MS = 5 * 60_000;

export interface CompactorOptions {
  readonly storage: Pick<Storage, 'revision' | 'compact'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** How much history is kept, and the interval of compaction. */
  readonly keepMs?: number;
}

/**
 * Forgets the past of the store in the end, so that it does not grow without bound: each pass forgets what was before
 * the last one, so everything can be read and watched from for at least `keepMs`. Several API servers on one store may
 * each have one; none forgets anything younger than that.
 */
export function createCompactor({ storage, clock, random, log, keepMs = COMPACT_EVERY_MS }: CompactorOptions): Loop {
  let before: number | undefined;
  return createLoop({
    name: 'compactor',
    clock,
    random,
    log,
    periodMs: keepMs,
    pass: async () => {
      const revision = await storage.revision();
      if (before !== undefined) await storage.compact(before);
      before = revision;
    },
  });
}
