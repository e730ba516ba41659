import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';

/** What nearly every part is given of the world outside: the real ones in `main.ts`, others in tests. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
