import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { jobs, pods } from '../../../api/client/resource-types.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { PodFreeing } from './free-pod.ts';
import { createJobPodTally } from './job-members.ts';
import { JobSyncer } from './job-syncer.ts';
import type { JobParts } from './job-syncer.ts';
import { syncOrphan, wakeOrphans } from './orphan-pods.ts';

/** The number of concurrent syncs (upstream: --concurrent-job-syncs). */
const WORKERS = 5;

/** Runs the pods of each Job to their end. */
export function createJobController(options: ControllerOptions): Controller {
  const { informers, client, clock, log } = options;
  const all = informers.for(jobs);
  const podInformer = informers.for(pods);
  const parts: JobParts = {
    all,
    podInformer,
    tally: createJobPodTally(all, podInformer),
    expectations: new Expectations(clock),
    freeing: new PodFreeing(client, podInformer),
    onNotFreed: (pod) => orphans.add(formatKey(keyOf(pod))),
  };
  const syncer = new JobSyncer(options, parts);
  const queue = new RateLimitingQueue({
    name: 'job',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.sync(key),
    restMs: (key) => syncer.restMs(key),
  });
  const orphans = new RateLimitingQueue({
    name: 'job orphan pods',
    clock,
    log,
    workers: 1,
    sync: (key) => syncOrphan(parts, podInformer.getByKey(key)),
  });
  const ends = [
    wakeOwners({
      owners: all,
      dependents: podInformer,
      expectations: parts.expectations,
      add: (key) => queue.add(key),
    }),
    wakeOrphans(parts, (key) => orphans.add(key)),
    parts.freeing.observe(),
    () => parts.tally.stop(),
  ];
  return runController({ name: 'job controller', log, queues: [queue, orphans], informers: [all, podInformer], ends });
}
