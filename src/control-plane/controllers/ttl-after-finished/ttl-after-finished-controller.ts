import type { Job } from '../../../api/batch/job.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

/** The number of concurrent syncs (upstream: --concurrent-ttl-after-finished-syncs). */
const WORKERS = 5;

/** Deletes finished Jobs with their pods after `ttlSecondsAfterFinished`. */
export function createTtlAfterFinishedController({ informers, client, clock, log }: ControllerOptions): Controller {
  const all = informers.for(jobs);
  const queue = new RateLimitingQueue({
    name: 'ttl-after-finished',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncTtl(client, all.getByKey(key), clock.nowMs()),
  });
  const look = (job: Job): void => {
    const leftMs = ttlLeftMs(job, clock.nowMs());
    if (leftMs !== undefined) queue.addAfter(formatKey(keyOf(job)), leftMs);
  };
  const end = all.addHandlers({ onAdd: look, onUpdate: (_before, after) => look(after) });
  return runController({ name: 'ttl-after-finished controller', log, queues: [queue], informers: [all], ends: [end] });
}

/** Returns the milliseconds until a finished job is deleted, or undefined for a job that stays. */
function ttlLeftMs(job: Job, nowMs: number): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec;
  const finished = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  const finishedMs = parseTime(finished?.lastTransitionTime);
  if (ttlSecondsAfterFinished === undefined || finishedMs === undefined || job.metadata.deletionTimestamp !== undefined)
    return undefined;
  return finishedMs + ttlSecondsAfterFinished * 1000 - nowMs;
}

/**
 * Deletes an expired job. The server is queried first, because the TTL may have been extended. Resolves to the delay of
 * the next check.
 */
async function syncTtl(client: ApiClient, job: Job | undefined, nowMs: number): Promise<number | undefined> {
  const leftMs = job === undefined ? undefined : ttlLeftMs(job, nowMs);
  if (job === undefined || leftMs === undefined || leftMs > 0) return leftMs;
  try {
    const fresh = await client.get(jobs, keyOf(job));
    const freshLeftMs = ttlLeftMs(fresh, nowMs);
    if (freshLeftMs === undefined || freshLeftMs > 0) return freshLeftMs;
    await client.delete(jobs, keyOf(fresh), {
      propagationPolicy: 'Foreground',
      preconditions: { uid: fresh.metadata.uid },
    });
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
  }
  return undefined;
}
