import type { Job, JobCondition } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { IndexSet } from './index-set.ts';
import { finishedAtMs } from './job-backoff.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
export const jobAnnotations = {
  completionIndex: 'batch.kubernetes.io/job-completion-index',
  indexFailures: 'batch.kubernetes.io/job-index-failure-count',
  indexIgnoredFailures: 'batch.kubernetes.io/job-index-ignored-failure-count',
} as const;
const THIS_CONTROLLER = 'kubernetes.io/job-controller';

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === 'Indexed';
export const isSuspended = ({ spec }: Job): boolean => spec.suspend === true;
/** Whether another controller manages the job. */
export const isManagedElsewhere = ({ spec }: Job): boolean => (spec.managedBy ?? THIS_CONTROLLER) !== THIS_CONTROLLER;
/** Whether pods are replaced when they have failed, and not when they begin to terminate. */
export const onlyReplacesFailed = ({ spec }: Job): boolean =>
  spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined;

export function trueCondition({ status }: Job, ...types: readonly string[]): JobCondition | undefined {
  return status?.conditions?.find(({ type, status: value }) => value === 'True' && types.includes(type));
}

export const isFinished = (job: Job): boolean => trueCondition(job, 'Complete', 'Failed') !== undefined;
export const hasTrackingFinalizer = ({ metadata }: Pod): boolean =>
  metadata.finalizers?.includes(TRACKING_FINALIZER) === true;

/**
 * Whether a pod counts as failed. Terminating pods count too, unless the policy waits for them, because a pod on a
 * deleted node never fails.
 */
export function isFailed(job: Job, pod: Pod): boolean {
  if (pod.status?.phase === 'Failed') return true;
  return !onlyReplacesFailed(job) && pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Succeeded';
}

/** Returns the completion index, or undefined for a pod without a valid one. */
export function completionIndex({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[jobAnnotations.completionIndex] ?? '';
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Returns the completion index if it is in the job's range, else undefined. */
export function validIndex({ spec }: Job, pod: Pod): number | undefined {
  const index = completionIndex(pod);
  return index !== undefined && index < (spec.completions ?? 0) ? index : undefined;
}

function counted({ metadata }: Pod, annotation: string): number {
  const text = metadata.annotations?.[annotation] ?? '';
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
}

export const indexFailures = (pod: Pod): number => counted(pod, jobAnnotations.indexFailures);
export const indexIgnoredFailures = (pod: Pod): number => counted(pod, jobAnnotations.indexIgnoredFailures);

/** The pods of a job at one moment. */
export interface JobPods {
  readonly active: number;
  readonly ready: number;
  /** The number of terminating pods that have not ended. */
  readonly terminating: number;
  /** The number of container restarts in running and pending pods. */
  readonly restarts: number;
  /** The valid indexes of active pods, for Indexed jobs. */
  readonly activeIndexes: IndexSet;
  /** The inactive pods that can still change the job. Ended and counted pods are omitted. */
  readonly others: readonly Pod[];
  /** Returns the active pods. They may change later, so the list must be used at once. */
  readonly listActive: () => readonly Pod[];
}

export interface JobFacts {
  readonly job: Job;
  readonly pods: JobPods;
  /** The UIDs of pods that the cache still shows with the removed finalizer. They are counted. */
  readonly freed: ReadonlySet<string>;
  readonly nowMs: number;
}

/** The progress of a job. */
export interface JobTally {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  readonly uncountedSucceeded: ReadonlySet<string>;
  readonly uncountedFailed: ReadonlySet<string>;
  /** The pods that ended since the last count. */
  readonly newSucceeded: readonly Pod[];
  readonly newFailed: readonly Pod[];
  /** The totals, including pods that are not counted yet. */
  readonly succeeded: number;
  readonly failed: number;
  /**
   * The indexes of Indexed jobs: succeeded ones in the status, succeeded ones now, and, with a limit per index,
   * permanently failed ones.
   */
  readonly knownIndexes: IndexSet;
  readonly succeededIndexes: IndexSet;
  readonly failedIndexes: IndexSet | undefined;
  /**
   * The last failed pod of each index to retry, with a limit per index. It stays until its successor exists, because it
   * holds the failure count.
   */
  readonly heldByIndex: ReadonlyMap<number, Pod>;
}

export function isTracked({ freed }: JobFacts, pod: Pod): boolean {
  return hasTrackingFinalizer(pod) && !freed.has(pod.metadata.uid);
}

export function tallyJob(facts: JobFacts): JobTally {
  const { job, pods } = facts;
  const { status = {} } = job;
  const uncountedSucceeded = new Set(status.uncountedTerminatedPods?.succeeded);
  const uncountedFailed = new Set(status.uncountedTerminatedPods?.failed);
  const isNew = (pod: Pod, uncounted: ReadonlySet<string>): boolean =>
    isTracked(facts, pod) &&
    !uncounted.has(pod.metadata.uid) &&
    (!isIndexed(job) || validIndex(job, pod) !== undefined);
  const newSucceeded = pods.others.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod, uncountedSucceeded));
  const newFailed = pods.others.filter((pod) => isFailed(job, pod) && isNew(pod, uncountedFailed));
  const countingFailed = newFailed.filter((pod) => matchFailurePolicy(job.spec.podFailurePolicy, pod).counts).length;
  const tally = {
    active: pods.active,
    ready: pods.ready,
    terminating: pods.terminating,
    uncountedSucceeded,
    uncountedFailed,
    newSucceeded,
    newFailed,
    succeeded: (status.succeeded ?? 0) + newSucceeded.length + uncountedSucceeded.size,
    failed: (status.failed ?? 0) + countingFailed + uncountedFailed.size,
  };
  if (!isIndexed(job))
    return {
      ...tally,
      knownIndexes: IndexSet.empty,
      succeededIndexes: IndexSet.empty,
      failedIndexes: undefined,
      heldByIndex: new Map(),
    };
  return { ...tally, ...tallyIndexes(facts) };
}

type IndexTally = Pick<JobTally, 'succeeded' | 'knownIndexes' | 'succeededIndexes' | 'failedIndexes' | 'heldByIndex'>;

function tallyIndexes(facts: JobFacts): IndexTally {
  const { job, pods } = facts;
  const { completions = 0, backoffLimitPerIndex } = job.spec;
  const indexesOf = (chosen: readonly Pod[]): IndexSet =>
    IndexSet.of(chosen.flatMap((pod) => validIndex(job, pod) ?? []));
  const tracked = pods.others.filter(hasTrackingFinalizer);
  const knownIndexes = IndexSet.parse(job.status?.completedIndexes, completions);
  const succeededIndexes = knownIndexes.union(indexesOf(tracked.filter(({ status }) => status?.phase === 'Succeeded')));
  const result = { succeeded: succeededIndexes.total, knownIndexes, succeededIndexes };
  if (backoffLimitPerIndex === undefined) return { ...result, failedIndexes: undefined, heldByIndex: new Map() };
  const failedIndexes = IndexSet.parse(job.status?.failedIndexes, completions).union(
    indexesOf(tracked.filter((pod) => endsIndex(job, pod))),
  );
  const settled = succeededIndexes.union(failedIndexes).union(pods.activeIndexes);
  return { ...result, failedIndexes, heldByIndex: heldPods(facts, settled) };
}

/** Whether the failure of the pod reaches the limit of its index. */
function endsIndex(job: Job, pod: Pod): boolean {
  if (!isFailed(job, pod)) return false;
  const { action, counts } = matchFailurePolicy(job.spec.podFailurePolicy, pod);
  return action === 'FailIndex' || (counts && indexFailures(pod) >= (job.spec.backoffLimitPerIndex ?? 0));
}

function heldPods(facts: JobFacts, settled: IndexSet): Map<number, Pod> {
  const held = new Map<number, Pod>();
  const failures = (pod: Pod): number => indexFailures(pod) + indexIgnoredFailures(pod);
  for (const pod of facts.pods.others) {
    const index = validIndex(facts.job, pod);
    if (index === undefined || settled.has(index) || !isTracked(facts, pod) || !isFailed(facts.job, pod)) continue;
    const before = held.get(index);
    if (before === undefined || (failures(before) <= failures(pod) && finishedAtMs(pod) >= finishedAtMs(before)))
      held.set(index, pod);
  }
  return held;
}
