import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import type { Storage } from './storage.ts';

/** The interval of compaction (upstream: --etcd-compaction-interval). */
const COMPACT_EVERY_MS = 5 * 60_000;

export interface CompactorOptions {
  readonly storage: Pick<Storage, 'revision' | 'compact'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The age of the history that is kept, and the interval of compaction, in milliseconds. */
  readonly keepMs?: number;
}

/**
 * Compacts the history of the store, so that it does not grow without limit. Each pass compacts up to the revision of
 * the previous one, so reads and watches can start at any revision of the last `keepMs`. Several API servers with one
 * store may each run one: none compacts anything younger.
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
