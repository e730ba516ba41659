import type { Clock } from '../../../../base/clock.ts';
import type { Logger } from '../../../../base/log.ts';
import type { Random } from '../../../../base/random.ts';
import type { PodTokens, TokenSource } from '../../../ports/tokens.ts';
import { ServiceAccountTokens } from '../service-account-tokens.ts';

/** Creates the agent's tokens with a source of the test. */
export function podTokens(source: TokenSource, world: { clock: Clock; random: Random; log: Logger }): PodTokens {
  return new ServiceAccountTokens({ source, ...world });
}
