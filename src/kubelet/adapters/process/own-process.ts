import { readFileSync, writeFileSync } from 'node:fs';
import { errorMessage } from '../../../base/errors.ts';
import type { Processes } from '../../ports/processes.ts';

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

/**
 * Sets how many files this process may open (upstream: maxOpenFiles). Node cannot set it, so the program prlimit does.
 * Raising it above the hard limit needs CAP_SYS_RESOURCE. Resolves to the reason of a failure; undefined on success.
 */
export async function setOwnOpenFiles(
  limit: number,
  processes: Processes,
  { pid = process.pid, limitsFile = '/proc/self/limits' } = {},
): Promise<string | undefined> {
  try {
    const [, soft, hard] = /^Max open files +(\S+) +(\S+)/m.exec(readFileSync(limitsFile, 'utf8')) ?? [];
    if (soft === String(limit) && hard === String(limit)) return undefined;
    const { exitCode, stderr } = await processes.run('prlimit', [`--pid=${pid}`, `--nofile=${limit}:${limit}`], {
      timeoutMs: 5000,
      outputLimitBytes: 4096,
    });
    return exitCode === 0 ? undefined : stderr.trim() || `prlimit: exit code ${exitCode}`;
  } catch (error) {
    return errorMessage(error);
  }
}
