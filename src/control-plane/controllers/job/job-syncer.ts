import type { Job, JobCondition, JobStatus } from '../../../api/batch/job.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { jobs, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { formatTime } from '../../../api/time.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import { claimObjects, ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { Expectations } from '../../controller-runtime/expectations.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { PodControl } from '../../controller-runtime/pod-control.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import { restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { slowStart } from '../../controller-runtime/slow-start.ts';
import type { PodFreeing } from './free-pod.ts';
import { nextFailureRecord } from './job-backoff.ts';
import type { FailureRecord } from './job-backoff.ts';
import {
  completionsReached,
  deadlineLeftMs,
  isCompleted,
  jobCondition,
  judgeEnding,
  withCondition,
} from './job-ending.ts';
import type { Ending } from './job-ending.ts';
import { isFinished, isManagedElsewhere, isSuspended, isTracked, tallyJob, TRACKING_FINALIZER } from './job-facts.ts';
import type { JobFacts, JobTally } from './job-facts.ts';
import { planPods } from './job-plan.ts';
import { buildJobPod } from './job-pods.ts';
import { addCounted, trackPods } from './job-tracking.ts';

export interface JobParts {
  readonly all: Informer<Job>;
  readonly podInformer: Informer<Pod>;
  readonly expectations: Expectations;
  readonly freeing: PodFreeing;
  /** A finalizer could not be removed: the job may be finished or deleted by now. */
  readonly onNotFreed: (pod: Pod) => void;
}

/** The changes of a pass to the pods, and their consequences. */
interface Acted {
  readonly ending?: Ending;
  /** Pods that were deleted in this pass. */
  readonly deleted: readonly Pod[];
  readonly created: number;
  /** Whether the number of pods was managed; only then the status reports suspension. */
  readonly managed: boolean;
  readonly waitMs?: number;
  readonly failure?: unknown;
}

/**
 * One pass over a job: decides its end, manages its pods, and counts ended ones. May be interrupted at any point, see
 * `Tracking`.
 */
export class JobSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: JobParts;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl<Job>;
  readonly #podIndex: ControlledIndex<Pod>;
  readonly #writes = new OwnWrites();
  readonly #failures = new Map<string, FailureRecord>();

  constructor(options: ControllerOptions, parts: JobParts) {
    this.#options = options;
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...options, component: 'job-controller' });
    this.#podControl = new PodControl({
      client: options.client,
      recorder: this.#recorder,
      informer: parts.podInformer,
      expectations: parts.expectations,
      type: jobs,
    });
    this.#podIndex = new ControlledIndex(parts.podInformer);
  }

  /** A pass reads every pod of the job. */
  restMs(key: string): number {
    const job = this.#parts.all.getByKey(key);
    return job === undefined ? 0 : restOfSet(this.#podIndex.countOf(job));
  }

  async sync(key: string): Promise<number | undefined> {
    const { all, expectations, freeing } = this.#parts;
    const job = all.getByKey(key);
    if (job === undefined || isFinished(job) || isManagedElsewhere(job)) {
      this.#failures.delete(key);
      this.#writes.forget(key);
      if (job === undefined) expectations.forget(key);
      return undefined;
    }
    // The cache shows older counters than this controller wrote; wait for the event.
    if (this.#writes.isBehind(key, job.metadata.resourceVersion)) return undefined;
    const expectedMs = expectations.waitMs(key);
    const objects = this.#podIndex.claimable(job);
    // Taken at the same moment as the pods, so that later events do not make counted pods look uncounted.
    const freedBefore = new Set(objects.filter((pod) => freeing.has(pod)).map(({ metadata }) => metadata.uid));
    const facts: JobFacts = {
      job,
      pods: await this.#claim(job, objects),
      freed: freedBefore,
      nowMs: this.#options.clock.nowMs(),
    };
    const tally = tallyJob(facts);
    const record = nextFailureRecord(this.#failures.get(key), tally.newSucceeded, tally.newFailed);
    const acted = await this.#act(key, facts, tally, { record, settled: expectedMs === 0 });
    const base = this.#statusAfter(facts, tally, acted);
    await this.#track({ key, facts, tally, base, ending: acted.ending, record });
    if (acted.failure !== undefined) throw acted.failure;
    const deadlineMs = deadlineLeftMs({ ...job, status: base }, facts.nowMs) ?? 0;
    // A passed deadline was already handled; further passes are triggered by events.
    return earliest(
      earliest(acted.waitMs, expectedMs > 0 ? expectedMs : undefined),
      deadlineMs > 0 ? deadlineMs : undefined,
    );
  }

  async #claim(job: Job, objects: readonly Pod[]): Promise<Pod[]> {
    return await claimObjects({
      client: this.#options.client,
      ownerType: jobs,
      owner: job,
      selector: job.spec.selector,
      type: pods,
      objects,
      finalizer: TRACKING_FINALIZER,
    });
  }

  async #act(
    key: string,
    facts: JobFacts,
    tally: JobTally,
    { record, settled }: { record: FailureRecord | undefined; settled: boolean },
  ): Promise<Acted> {
    const { job } = facts;
    const ending = judgeEnding(facts, tally);
    if (ending !== undefined) {
      const { deleted, failure } = await this.#deletePods(key, job, tally.active, false);
      // The job is not finished while unseen pods may exist or deletions have failed.
      return { ...(settled && failure === undefined && { ending }), deleted, created: 0, managed: false, failure };
    }
    const managed = settled && job.metadata.deletionTimestamp === undefined;
    const acted = managed ? await this.#manage(key, facts, tally, record) : { deleted: [], created: 0, managed };
    const active = tally.active.length - acted.deleted.length + acted.created;
    return isCompleted(job, tally.succeeded, active) && acted.failure === undefined
      ? { ...acted, ending: completionsReached }
      : acted;
  }

  async #manage(key: string, facts: JobFacts, tally: JobTally, record: FailureRecord | undefined): Promise<Acted> {
    const { job } = facts;
    const plan = planPods(facts, tally, record);
    switch (plan.kind) {
      case 'nothing':
        return { deleted: [], created: 0, managed: true };
      case 'wait':
        return { deleted: [], created: 0, managed: true, waitMs: plan.ms };
      case 'delete':
        return { ...(await this.#deletePods(key, job, plan.pods, true)), created: 0, managed: true };
      case 'create': {
        const { indexes } = plan;
        const heldFor = (index: number | undefined): Pod | undefined =>
          index === undefined ? undefined : tally.heldByIndex.get(index);
        const made = await slowStart(indexes.length, 1, (at) =>
          this.#podControl.create(key, job, buildJobPod(job, indexes[at], heldFor(indexes[at]))),
        );
        return { deleted: [], created: made.done, managed: true, failure: made.error };
      }
    }
  }

  /** `uncounted` removes the finalizer first, because such pods do not count as failures. */
  async #deletePods(
    key: string,
    job: Job,
    chosen: readonly Pod[],
    uncounted: boolean,
  ): Promise<{ deleted: Pod[]; failure: unknown }> {
    const results = await Promise.allSettled(
      chosen.map(async (pod) => {
        if (uncounted) await this.#free(pod, true);
        await this.#podControl.delete(key, job, pod);
      }),
    );
    return {
      deleted: chosen.filter((_, index) => results[index]?.status === 'fulfilled'),
      failure: results.find((result) => result.status === 'rejected')?.reason,
    };
  }

  async #free(pod: Pod, onlyUnchanged: boolean): Promise<void> {
    try {
      await this.#parts.freeing.free(pod, { onlyUnchanged });
    } catch (error) {
      this.#parts.onNotFreed(pod);
      throw error;
    }
  }

  /** The status without the counters. */
  #statusAfter({ job, nowMs }: JobFacts, tally: JobTally, acted: Acted): JobStatus {
    const { startTime: _startTime, ...known } = job.status ?? {};
    const suspended = isSuspended(job);
    let conditions: readonly JobCondition[] = known.conditions ?? [];
    let startTime = job.status?.startTime ?? (suspended ? undefined : formatTime(nowMs));
    if (acted.managed && acted.ending === undefined) {
      const suspension = suspended
        ? jobCondition('Suspended', 'True', 'JobSuspended', 'Job suspended', nowMs)
        : jobCondition('Suspended', 'False', 'JobResumed', 'Job resumed', nowMs);
      const after = withCondition(conditions, suspension);
      if (after !== conditions) {
        // The deadline restarts at each resumption.
        startTime = suspended ? undefined : formatTime(nowMs);
        this.#recorder.event(jobs, job, {
          type: 'Normal',
          reason: suspended ? 'Suspended' : 'Resumed',
          message: suspension.message ?? '',
        });
        conditions = after;
      }
    }
    return {
      ...known,
      ...(startTime !== undefined && { startTime }),
      ...(conditions.length > 0 && { conditions: [...conditions] }),
      active: tally.active.length - acted.deleted.length + acted.created,
      ready: tally.ready - acted.deleted.filter(isPodReady).length,
      terminating: tally.terminating + acted.deleted.length,
      uncountedTerminatedPods: known.uncountedTerminatedPods ?? {},
    };
  }

  async #track(pass: {
    key: string;
    facts: JobFacts;
    tally: JobTally;
    base: JobStatus;
    ending: Ending | undefined;
    record: FailureRecord | undefined;
  }): Promise<void> {
    const { key, facts, tally, base, ending, record } = pass;
    const { nowMs } = facts;
    const tracking = trackPods(facts, tally, base, ending);
    const announced =
      ending === undefined || ending.announced ? tracking.status : withAnnouncement(tracking.status, ending, nowMs);
    let job = await this.#write(key, facts.job, announced);
    if (record === undefined) this.#failures.delete(key);
    else this.#failures.set(key, record);
    const results = await Promise.allSettled(tracking.freeable.map((pod) => this.#free(pod, false)));
    const freedNow = new Set(
      tracking.freeable
        .filter((_, index) => results[index]?.status === 'fulfilled')
        .map(({ metadata }) => metadata.uid),
    );
    const withFinalizer = new Set(
      facts.pods
        .filter((pod) => isTracked(facts, pod) && !freedNow.has(pod.metadata.uid))
        .map(({ metadata }) => metadata.uid),
    );
    const counted = addCounted(job.status ?? announced, withFinalizer);
    const { succeeded = [], failed = [] } = counted.uncountedTerminatedPods ?? {};
    const ends =
      ending !== undefined &&
      !tracking.partial &&
      succeeded.length + failed.length === 0 &&
      (counted.terminating ?? 0) === 0;
    const finished = ends && ending !== undefined ? withEnding(counted, ending, nowMs) : counted;
    job = await this.#write(key, job, finished);
    if (ends && ending !== undefined) this.#reportFinished(job, ending);
    const failure: unknown = results.find((result) => result.status === 'rejected')?.reason;
    if (failure !== undefined) throw failure;
  }

  async #write(key: string, job: Job, status: JobStatus): Promise<Job> {
    if (isSameStatus(job.status, status)) return job;
    const written = await this.#options.client.update(jobs, { ...job, status }, { subresource: 'status' });
    const { resourceVersion } = written.metadata;
    if (
      resourceVersion !== job.metadata.resourceVersion &&
      this.#parts.all.getByKey(key)?.metadata.resourceVersion !== resourceVersion
    )
      this.#writes.wroteOver(key, job.metadata.resourceVersion);
    return written;
  }

  #reportFinished(job: Job, { kind, reason, message }: Ending): void {
    if (kind === 'failure') return this.#recorder.event(jobs, job, { type: 'Warning', reason, message });
    if (job.spec.completions !== undefined && (job.status?.succeeded ?? 0) > job.spec.completions) {
      this.#recorder.event(jobs, job, {
        type: 'Warning',
        reason: 'TooManySucceededPods',
        message: 'Too many succeeded pods running after completion count reached',
      });
    }
    this.#recorder.event(jobs, job, { type: 'Normal', reason: 'Completed', message: 'Job completed' });
  }
}

function withAnnouncement(status: JobStatus, { kind, reason, message }: Ending, nowMs: number): JobStatus {
  const condition = jobCondition(
    kind === 'failure' ? 'FailureTarget' : 'SuccessCriteriaMet',
    'True',
    reason,
    message,
    nowMs,
  );
  return { ...status, conditions: [...withCondition(status.conditions ?? [], condition)] };
}

function withEnding(status: JobStatus, { kind, reason, message }: Ending, nowMs: number): JobStatus {
  const condition = jobCondition(kind === 'failure' ? 'Failed' : 'Complete', 'True', reason, message, nowMs);
  return {
    ...status,
    conditions: [...withCondition(status.conditions ?? [], condition)],
    ...(kind === 'success' && { completionTime: formatTime(nowMs) }),
  };
}

/** A number that is absent counts as 0. */
function isSameStatus(left: JobStatus | undefined, right: JobStatus): boolean {
  const numbers = ['active', 'ready', 'terminating', 'succeeded', 'failed'] as const;
  const { active: _a, ready: _r, terminating: _t, succeeded: _s, failed: _f, ...leftRest } = left ?? {};
  const { active: _a2, ready: _r2, terminating: _t2, succeeded: _s2, failed: _f2, ...rightRest } = right;
  return (
    left !== undefined &&
    numbers.every((name) => (left[name] ?? 0) === (right[name] ?? 0)) &&
    semanticEqual(leftRest, rightRest)
  );
}

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.min(left, right);
}
