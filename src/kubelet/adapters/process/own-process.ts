import { writeFileSync } from 'node:fs';

/**
 * Sets the OOM score adjustment of this process (upstream: oomScoreAdj, -999 by default). Lowering it needs
 * CAP_SYS_RESOURCE. Returns the reason of a failure; undefined on success.
 */
export function setOwnOomScore(score: number, path = '/proc/self/oom_score_adj'): string | undefined {
  try {
    writeFileSync(path, String(score));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
