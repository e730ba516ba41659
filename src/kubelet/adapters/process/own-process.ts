import { writeFileSync } from 'node:fs';

/**
 * Sets how readily the kernel kills this process for memory (upstream: oomScoreAdj, -999 by default). Lowering it needs CAP_SYS_RESOURCE.
 * Returns why it could not be done; undefined when it is done.
 */
export function setOwnOomScore(score: number, path = '/proc/self/oom_score_adj'): string | undefined {
  try {
    writeFileSync(path, String(score));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
