import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { FaultCounts } from '../../../base/process-faults.ts';
import type { Random } from '../../../base/random.ts';

/** The dependencies of nearly every part: real ones in `main.ts`, fakes in tests. */
export interface BaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Counts faults of the process, for the metrics. */
  readonly faults?: FaultCounts;
}
