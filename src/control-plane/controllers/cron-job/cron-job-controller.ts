import { errorMessage } from '../../../base/errors.ts';
import type { CronJob, CronJobStatus } from '../../../api/batch/cron-job.ts';
import type { Job } from '../../../api/batch/job.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { apiVersionOf, formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { cronJobs, jobs } from '../../../api/client/resource-types.ts';
import type { ObjectReference } from '../../../api/core/meta.ts';
import { formatZonedTime } from '../../../api/cron/time-zone.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import {
  ControlledIndex,
  controllerRefOf,
  isControlledBy,
  newControllerRef,
} from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { endingOf, jobName, planCronJob, zoneOf } from './plan-cron-job.ts';
import type { CronEvent, CronPlan } from './plan-cron-job.ts';

/** The number of concurrent syncs (upstream: --concurrent-cron-job-syncs). */
const WORKERS = 5;
/** The longest wait. Timers use a monotonic clock and schedules the wall clock, so the wait is checked regularly. */
const LONGEST_WAIT_MS = 3_600_000;
const SCHEDULED_ANNOTATION = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** Creates the Jobs of each CronJob when they are due. */
export function createCronJobController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const crons = informers.for(cronJobs);
  const jobInformer = informers.for(jobs);
  const syncer = new CronJobSyncer(options, crons, jobInformer);
  const queue = new RateLimitingQueue({
    name: 'cronjob',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.sync(key),
  });
  const wake = (cronJob: CronJob): void => queue.add(formatKey(keyOf(cronJob)));
  const wakeOwner = (job: Job): void => {
    const ref = controllerRefOf(job);
    if (ref?.kind !== cronJobs.kind) return;
    const owner = crons.get({ namespace: job.metadata.namespace, name: ref.name });
    if (owner?.metadata.uid === ref.uid) wake(owner);
  };
  const ends = [
    crons.addHandlers({ onAdd: wake, onUpdate: (_, after) => wake(after), onDelete: wake }),
    jobInformer.addHandlers({
      onAdd: wakeOwner,
      onUpdate: (before, after) => {
        if (controllerRefOf(before)?.uid !== controllerRefOf(after)?.uid) wakeOwner(before);
        wakeOwner(after);
      },
      onDelete: wakeOwner,
    }),
  ];
  return runController({ name: 'cronjob controller', log, queues: [queue], informers: [crons, jobInformer], ends });
}

class CronJobSyncer {
  readonly #options: ControllerOptions;
  readonly #crons: Informer<CronJob>;
  readonly #jobIndex: ControlledIndex<Job>;
  readonly #recorder: EventRecorder;
  readonly #ownWrites = new OwnWrites();

  constructor(options: ControllerOptions, crons: Informer<CronJob>, jobInformer: Informer<Job>) {
    this.#options = options;
    this.#crons = crons;
    this.#jobIndex = new ControlledIndex(jobInformer);
    this.#recorder = createEventRecorder({ ...options, component: 'cronjob-controller' });
  }

  async sync(key: string): Promise<number | undefined> {
    const cronJob = this.#crons.getByKey(key);
    if (cronJob === undefined) {
      this.#ownWrites.forget(key);
      return undefined;
    }
    // The status records started Jobs: an outdated one would cause a second start under the same name and a duplicate
    // event.
    if (this.#ownWrites.isBehind(key, cronJob.metadata.resourceVersion)) return undefined;
    const mine = this.#jobIndex.ofOwner(cronJob);
    const missing = await this.#findMissing(cronJob, mine);
    const unlisted = await this.#findUnlisted(cronJob, mine);
    const nowMs = this.#options.clock.nowMs();
    const plan = planCronJob({ cronJob, jobs: mine, missing, unlisted, nowMs });
    for (const event of plan.events) this.#say(cronJob, event);
    const deleted = new Set<string>();
    for (const job of plan.forget) if (await this.#delete(cronJob, job)) deleted.add(job.metadata.uid);
    const started = await this.#start(cronJob, plan);
    await this.#writeStatus(key, cronJob, statusAfter(plan, deleted, started));
    if (started.error !== undefined) throw started.error instanceof Error ? started.error : new Error('start failed');
    return plan.nextMs === undefined ? undefined : Math.min(plan.nextMs - nowMs, LONGEST_WAIT_MS);
  }

  /** Finds active Jobs that were deleted. The cache may be outdated, so the API server is queried. */
  async #findMissing({ status, metadata }: CronJob, mine: readonly Job[]): Promise<Set<string>> {
    const known = new Set(mine.map((job) => job.metadata.uid));
    const missing = new Set<string>();
    for (const { uid = '', name = '', namespace } of status?.active ?? []) {
      if (known.has(uid)) continue;
      try {
        await this.#options.client.get(jobs, { namespace: namespace ?? metadata.namespace, name });
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
        missing.add(uid);
      }
    }
    return missing;
  }

  /**
   * Finds running Jobs that an earlier run of the controller started without writing the status. They count as active
   * for Forbid and Replace; upstream starts the next one beside them. The cache may still contain a deleted Job, so the
   * API server is queried.
   */
  async #findUnlisted({ status }: CronJob, mine: readonly Job[]): Promise<ObjectReference[]> {
    const known = new Set((status?.active ?? []).map(({ uid }) => uid));
    const unlisted: ObjectReference[] = [];
    for (const job of mine) {
      const { uid, annotations, deletionTimestamp } = job.metadata;
      const isStarted = annotations?.[SCHEDULED_ANNOTATION] !== undefined && deletionTimestamp === undefined;
      if (!isStarted || known.has(uid) || endingOf(job) !== undefined) continue;
      try {
        const found = await this.#options.client.get(jobs, keyOf(job));
        if (found.metadata.uid === uid && found.metadata.deletionTimestamp === undefined)
          unlisted.push(referenceTo(found));
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    }
    return unlisted;
  }

  async #start(cronJob: CronJob, { start }: CronPlan): Promise<Started> {
    if (start === undefined) return { replaced: [] };
    const replaced: string[] = [];
    try {
      for (const reference of start.replaces) {
        await this.#replace(cronJob, reference);
        replaced.push(reference.uid ?? '');
      }
      const job = await this.#create(cronJob, start.scheduledMs);
      return { replaced, ...(job !== undefined && { job, scheduledMs: start.scheduledMs }) };
    } catch (error) {
      return { replaced, error };
    }
  }

  /**
   * Creates the Job. Returns undefined if another owner's Job has its name. The name derives from the scheduled time,
   * so that the Job is created only once.
   */
  async #create(cronJob: CronJob, scheduledMs: number): Promise<Job | undefined> {
    const { client } = this.#options;
    const job = buildCronsJob(cronJob, scheduledMs);
    try {
      const created = await client.create(jobs, job);
      this.#say(cronJob, {
        type: 'Normal',
        reason: 'SuccessfulCreate',
        message: `Created job ${created.metadata.name}`,
      });
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!isApiError(error, 'AlreadyExists')) {
        const message = `Error creating job: ${errorMessage(error)}`;
        this.#say(cronJob, { type: 'Warning', reason: 'FailedCreate', message });
        throw error;
      }
      // An earlier run created it and did not write the status.
      const known = await client.get(jobs, keyOf(job));
      return isControlledBy(known, cronJob) ? known : undefined;
    }
  }

  async #replace(cronJob: CronJob, { namespace, name = '', uid }: ObjectReference): Promise<void> {
    const key = { namespace: namespace ?? cronJob.metadata.namespace, name };
    let job: Job;
    try {
      job = await this.#options.client.get(jobs, key);
    } catch (error) {
      if (isApiError(error, 'NotFound')) return;
      this.#say(cronJob, { type: 'Warning', reason: 'FailedGet', message: `Get job: ${errorMessage(error)}` });
      throw error;
    }
    if (job.metadata.uid === uid && !(await this.#delete(cronJob, job)))
      throw new Error(`could not replace job ${formatKey(key)}`);
  }

  async #delete(cronJob: CronJob, job: Job): Promise<boolean> {
    const { uid, name } = job.metadata;
    try {
      await this.#options.client.delete(jobs, keyOf(job), {
        preconditions: { uid },
        propagationPolicy: 'Background',
      });
    } catch (error) {
      if (isApiError(error, 'NotFound', 'Conflict')) return true;
      this.#say(cronJob, { type: 'Warning', reason: 'FailedDelete', message: `Deleted job: ${errorMessage(error)}` });
      return false;
    }
    this.#say(cronJob, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` });
    return true;
  }

  #say(cronJob: CronJob, event: CronEvent): void {
    this.#recorder.event(cronJobs, cronJob, event);
  }

  async #writeStatus(key: string, cronJob: CronJob, status: CronJobStatus): Promise<void> {
    if (semanticEqual(cronJob.status ?? {}, status)) return;
    await this.#options.client.update(cronJobs, { ...cronJob, status }, { subresource: 'status' });
    this.#ownWrites.wroteOver(key, cronJob.metadata.resourceVersion);
  }
}

interface Started {
  /** The UIDs of Jobs that were deleted to start it. */
  readonly replaced: readonly string[];
  readonly job?: Job;
  readonly scheduledMs?: number;
  readonly error?: unknown;
}

function statusAfter({ status }: CronPlan, deleted: ReadonlySet<string>, started: Started): CronJobStatus {
  const { job, scheduledMs, replaced } = started;
  const gone = new Set([...deleted, ...replaced]);
  const active = (status.active ?? []).filter(({ uid = '' }) => !gone.has(uid) && uid !== job?.metadata.uid);
  if (job !== undefined) active.push(referenceTo(job));
  const { active: _, ...rest } = status;
  return {
    ...rest,
    ...(active.length > 0 && { active }),
    ...(scheduledMs !== undefined && { lastScheduleTime: formatTime(scheduledMs) }),
  };
}

function referenceTo({ metadata: { namespace, name, uid, resourceVersion } }: Job): ObjectReference {
  return {
    kind: jobs.kind,
    namespace,
    name,
    uid,
    apiVersion: apiVersionOf(jobs),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
}

function buildCronsJob(cronJob: CronJob, scheduledMs: number): Job {
  const { metadata, spec } = cronJob.spec.jobTemplate;
  return {
    metadata: {
      name: jobName(cronJob, scheduledMs),
      namespace: cronJob.metadata.namespace,
      uid: '',
      ...(metadata.labels !== undefined && { labels: metadata.labels }),
      annotations: { ...metadata.annotations, [SCHEDULED_ANNOTATION]: formatZonedTime(zoneOf(cronJob), scheduledMs) },
      ownerReferences: [newControllerRef(cronJobs, cronJob)],
    },
    spec,
  };
}
