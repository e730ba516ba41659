import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { OwnProcess } from '../../ports/node-settings.ts';

export interface OwnOomScoreParts {
  readonly ownProcess: OwnProcess;
  /** From -1000 to 1000. */
  readonly scoreAdj: number;
  /** Whether the agent has a cgroup of its own. Then the score is checked more often. */
  readonly hasGroup: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const PERIOD_MS = 5 * 60_000;
const PERIOD_WITH_GROUP_MS = 60_000;

/**
 * Creates a loop that sets the OOM score of the agent repeatedly, because other programs may change it. The periods are
 * upstream's (upstream: cm/container_manager_linux.go ensureProcessInContainerWithOOMScore).
 */
export function createOomScoreLoop(parts: OwnOomScoreParts): Loop {
  const { ownProcess, scoreAdj, hasGroup, clock, random, log } = parts;
  let problem: string | undefined;
  return createLoop({
    name: 'own OOM score',
    clock,
    random,
    log,
    periodMs: hasGroup ? PERIOD_WITH_GROUP_MS : PERIOD_MS,
    pass: () => {
      const before = problem;
      problem = ownProcess.setOomScore(scoreAdj);
      if (problem !== undefined && problem !== before)
        log.debug(3, 'Failed to apply oom_score_adj to process', { oomScoreAdj: scoreAdj, error: problem });
    },
  });
}
