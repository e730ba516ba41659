import type { Job, JobCondition, JobStatus } from '../../../api/batch/job.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { jobs, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { formatTime } from '../../../api/time.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import { claimObjects, ControlledIndex, decideClaim } from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { Expectations } from '../../controller-runtime/expectations.ts';
import { OwnWrites } from '../../controller-runtime/own-writes.ts';
import { PodControl } from '../../controller-runtime/pod-control.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import { foldOfSet } from '../../controller-runtime/rest-of-set.ts';
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
import { isFinished, isManagedElsewhere, isSuspended, tallyJob, TRACKING_FINALIZER } from './job-facts.ts';
import type { JobFacts, JobTally } from './job-facts.ts';
import { JobMembers } from './job-members.ts';
import type { JobPodTally } from './job-members.ts';
import { planPods } from './job-plan.ts';
import type { JobPlan } from './job-plan.ts';
import { buildJobPod } from './job-pods.ts';
import { addCounted, selectTracked, trackPods } from './job-tracking.ts';
import type { TrackedPass } from './job-tracking.ts';

export interface JobParts {
  readonly all: Informer<Job>;
  readonly podInformer: Informer<Pod>;
  readonly tally: JobPodTally;
  readonly expectations: Expectations;
  readonly freeing: PodFreeing;
  /** Called when a finalizer could not be removed. The job may be finished or deleted by then. */
  readonly onNotFreed: (pod: Pod) => void;
}

/** The changes of a pass to the pods, and their consequences. */
interface Acted {
  readonly ending?: Ending;
  /** The pods that were deleted in this pass. */
  readonly deleted: readonly Pod[];
  readonly created: number;
  /** Whether the number of pods was managed; only then the status reports suspension. */
  readonly managed: boolean;
  readonly waitMs?: number;
  readonly failure?: unknown;
}

/**
 * Syncs a job: decides its end, manages its pods, and counts ended ones. It may be interrupted at any point, see
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

  /**
   * Returns the pause between passes. Pod events in this time are merged into one pass, so that the status is not
   * written for each pod.
   */
  restMs(key: string): number {
    const job = this.#parts.all.getByKey(key);
    return job === undefined ? 0 : foldOfSet(this.#podIndex.countOf(job));
  }

  async sync(key: string): Promise<number | undefined> {
    const { all, expectations } = this.#parts;
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
    const facts = this.#read(job) ?? (await this.#claimAndRead(job));
    const tally = tallyJob(facts);
    const record = nextFailureRecord(this.#failures.get(key), tally.newSucceeded, tally.newFailed);
    const decided = decide(facts, tally, { record, settled: expectedMs === 0 });
    const tracked = selectTracked(facts, decided.kind === 'end' ? decided.ending : undefined);
    const acted = await this.#act(key, facts, tally, decided);
    const base = this.#statusAfter(facts, tally, acted);
    await this.#track(key, { facts, tally, tracked, base, ending: acted.ending }, record);
    if (acted.failure !== undefined) throw acted.failure;
    const deadlineMs = deadlineLeftMs({ ...job, status: base }, facts.nowMs) ?? 0;
    // A passed deadline was already handled; further passes are triggered by events.
    return earliest(
      earliest(acted.waitMs, expectedMs > 0 ? expectedMs : undefined),
      deadlineMs > 0 ? deadlineMs : undefined,
    );
  }

  /** Reads the facts. Returns undefined if pods must be adopted or released first, which is rare. */
  #read(job: Job): JobFacts | undefined {
    const nowMs = this.#options.clock.nowMs();
    const members = this.#parts.tally.of(job, nowMs);
    const isTaken = (pod: Pod): boolean => decideClaim(job, job.spec.selector, pod) === 'adopt';
    const leaving = job.metadata.deletionTimestamp !== undefined;
    if (!leaving && (members.strays > 0 || this.#podIndex.orphans(job).some(isTaken))) return undefined;
    return { job, pods: members.pods, freed: this.#parts.freeing.uids, nowMs };
  }

  async #claimAndRead(job: Job): Promise<JobFacts> {
    const objects = this.#podIndex.claimable(job);
    // The copy is made at the same moment as that of the pods, so that later events do not make counted pods look
    // uncounted.
    const freed = this.#parts.freeing.uids;
    const { pods: claimed } = JobMembers.of(job, await this.#claim(job, objects));
    return { job, pods: claimed, freed, nowMs: this.#options.clock.nowMs() };
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

  async #act(key: string, facts: JobFacts, tally: JobTally, decided: Decision): Promise<Acted> {
    const { job } = facts;
    if (decided.kind === 'end') {
      const { ending, active, settled } = decided;
      const { deleted, failure } = await this.#deletePods(key, job, active, false);
      // The job is not finished while unseen pods may exist or deletions have failed.
      return { ...(settled && failure === undefined && { ending }), deleted, created: 0, managed: false, failure };
    }
    const acted =
      decided.kind === 'manage'
        ? await this.#manage(key, job, tally, decided.plan)
        : { deleted: [], created: 0, managed: false };
    const active = tally.active - acted.deleted.length + acted.created;
    return isCompleted(job, tally.succeeded, active) && acted.failure === undefined
      ? { ...acted, ending: completionsReached }
      : acted;
  }

  async #manage(key: string, job: Job, tally: JobTally, plan: JobPlan): Promise<Acted> {
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

  /** Deletes pods. `uncounted` removes the finalizer first, because such pods do not count as failures. */
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

  /** Computes the status without the counters. */
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
      active: tally.active - acted.deleted.length + acted.created,
      ready: tally.ready - acted.deleted.filter(isPodReady).length,
      terminating: tally.terminating + acted.deleted.length,
      uncountedTerminatedPods: known.uncountedTerminatedPods ?? {},
    };
  }

  async #track(key: string, pass: TrackedPass, record: FailureRecord | undefined): Promise<void> {
    const { facts, tracked, ending } = pass;
    const { nowMs } = facts;
    const tracking = trackPods(pass);
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
    const withFinalizer = new Set(tracked.map(({ metadata }) => metadata.uid).filter((uid) => !freedNow.has(uid)));
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

/** The decision about the pods of a pass. */
type Decision =
  | { readonly kind: 'end'; readonly ending: Ending; readonly active: readonly Pod[]; readonly settled: boolean }
  | { readonly kind: 'manage'; readonly plan: JobPlan }
  /** The pods are not known yet, or the job is being deleted. */
  | { readonly kind: 'wait' };

function decide(
  facts: JobFacts,
  tally: JobTally,
  { record, settled }: { readonly record: FailureRecord | undefined; readonly settled: boolean },
): Decision {
  const ending = judgeEnding(facts, tally);
  if (ending !== undefined) return { kind: 'end', ending, active: facts.pods.listActive(), settled };
  return settled && facts.job.metadata.deletionTimestamp === undefined
    ? { kind: 'manage', plan: planPods(facts, tally, record) }
    : { kind: 'wait' };
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

/** Whether the status is the same. An absent number counts as 0. */
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
