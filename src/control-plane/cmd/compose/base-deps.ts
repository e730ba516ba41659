import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { FaultCounts } from '../../../base/process-faults.ts';
import type { Random } from '../../../base/random.ts';

/** Dependencies of nearly every part: real ones in `main.ts`, fakes in tests. */
export interface BaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Fault counts of the process, for the metrics. */
  readonly faults?: FaultCounts;
}
