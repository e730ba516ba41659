import type { Job } from '../../../api/batch/job.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import { trueCondition } from './job-facts.ts';

/** In how many milliseconds the job may go, once it has finished; undefined for one that stays. */
export function ttlLeftMs(job: Job, nowMs: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec;
  const finishedMs = parseTime(trueCondition(job, 'Complete', 'Failed')?.lastTransitionTime);
  if (ttlSecondsAfterFinished === undefined || finishedMs === undefined || job.metadata.deletionTimestamp !== undefined) return undefined;
  return finishedMs + ttlSecondsAfterFinished * 1000 - nowMs;
}

/** Deletes a job whose time is over, with its pods. Somebody may have given it longer: the server is asked first. Answers when to look again. */
export async function syncTtl(client: ApiClient, job: Job | undefined, nowMs: number): Promise<number | undefined> {
  const leftMs = job === undefined ? undefined : ttlLeftMs(job, nowMs);
  if (job === undefined || leftMs === undefined || leftMs > 0) return leftMs;
  try {
    const fresh = await client.get(jobs, keyOf(job));
    const freshLeftMs = ttlLeftMs(fresh, nowMs);
    if (freshLeftMs === undefined || freshLeftMs > 0) return freshLeftMs;
    await client.delete(jobs, keyOf(fresh), { propagationPolicy: 'Foreground', preconditions: { uid: fresh.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
  }
  return undefined;
}
