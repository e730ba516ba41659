import type { JobStatus } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { IndexSet } from './index-set.ts';
import type { Ending } from './job-ending.ts';
import { isFailed, isIndexed, isTracked, validIndex } from './job-facts.ts';
import type { JobFacts, JobTally } from './job-facts.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

/** The maximum number of listed UIDs, which keeps the list in the status below 20 KB (upstream: MaxUncountedPods). */
const MAX_UNCOUNTED = 500;

/**
 * Counts each pod exactly once, even if the controller is killed at any point. An ended pod keeps its finalizer until
 * the status lists its uid; then the finalizer is removed; then the uid is replaced by an incremented counter. A listed
 * uid whose pod has no finalizer is counted but not yet added.
 */
export interface Tracking {
  /** The status with counters and lists to write before any finalizer is removed. */
  readonly status: JobStatus;
  /** Pods whose finalizer may be removed after that write. */
  readonly freeable: readonly Pod[];
  /** Whether more pods remain than fit in one pass. */
  readonly partial: boolean;
}

/**
 * Selects the pods with the finalizer that may be counted in this pass: the inactive ones, or all if the job ends or is
 * being deleted.
 */
export function selectTracked(facts: JobFacts, ending: Ending | undefined): readonly Pod[] {
  const { job, pods } = facts;
  const all = ending !== undefined || job.metadata.deletionTimestamp !== undefined;
  return [...pods.others, ...(all ? pods.listActive() : [])].filter((pod) => isTracked(facts, pod));
}

export interface TrackedPass {
  readonly facts: JobFacts;
  readonly tally: JobTally;
  readonly tracked: readonly Pod[];
  /** The status without the counters. */
  readonly base: JobStatus;
  readonly ending: Ending | undefined;
}

export function trackPods({ facts, tally, tracked, base, ending }: TrackedPass): Tracking {
  const { job } = facts;
  const status = addCounted(base, new Set(tracked.map(({ metadata }) => metadata.uid)));
  const succeeded = [...(status.uncountedTerminatedPods?.succeeded ?? [])];
  const failed = [...(status.uncountedTerminatedPods?.failed ?? [])];
  const newIndexes: number[] = [];
  const freeable: Pod[] = [];
  let partial = false;
  for (const pod of inIndexOrder(facts, tracked)) {
    const isOver = isFailed(job, pod);
    if (!mayBeFreed(facts, tally, pod, ending !== undefined)) continue;
    freeable.push(pod);
    const { uid } = pod.metadata;
    if (pod.status?.phase === 'Succeeded' && !tally.uncountedFailed.has(uid)) {
      const index = validIndex(job, pod);
      if (!isIndexed(job) && !tally.uncountedSucceeded.has(uid)) succeeded.push(uid);
      else if (index !== undefined && !tally.knownIndexes.has(index)) newIndexes.push(index);
    } else if ((isOver || ending?.kind === 'failure') && countsAsFailure(facts, tally, pod)) failed.push(uid);
    partial = newIndexes.length + succeeded.length + failed.length >= MAX_UNCOUNTED;
    if (partial) break;
  }
  const counted: JobStatus = { ...status, uncountedTerminatedPods: uncounted(succeeded, failed) };
  return { status: isIndexed(job) ? withIndexes(counted, tally, newIndexes) : counted, freeable, partial };
}

/**
 * Adds listed uids whose pods have no finalizer any more to the counters. Returns the same object if there are none.
 */
export function addCounted(status: JobStatus, withFinalizer: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const leftSucceeded = succeeded.filter((uid) => withFinalizer.has(uid));
  const leftFailed = failed.filter((uid) => withFinalizer.has(uid));
  if (leftSucceeded.length === succeeded.length && leftFailed.length === failed.length) return status;
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - leftSucceeded.length,
    failed: (status.failed ?? 0) + failed.length - leftFailed.length,
    uncountedTerminatedPods: uncounted(leftSucceeded, leftFailed),
  };
}

function uncounted(succeeded: string[], failed: string[]): NonNullable<JobStatus['uncountedTerminatedPods']> {
  return { ...(succeeded.length > 0 && { succeeded }), ...(failed.length > 0 && { failed }) };
}

function mayBeFreed({ job }: JobFacts, { heldByIndex }: JobTally, pod: Pod, ends: boolean): boolean {
  if (job.metadata.deletionTimestamp !== undefined || ends || pod.status?.phase === 'Succeeded') return true;
  const index = validIndex(job, pod);
  return isFailed(job, pod) && (index === undefined || heldByIndex.get(index) !== pod);
}

/** In a failing job, every pod that has not succeeded counts as failed. */
function countsAsFailure({ job }: JobFacts, { uncountedFailed }: JobTally, pod: Pod): boolean {
  if (uncountedFailed.has(pod.metadata.uid) || (isIndexed(job) && validIndex(job, pod) === undefined)) return false;
  return matchFailurePolicy(job.spec.podFailurePolicy, pod).counts;
}

function withIndexes(
  status: JobStatus,
  { knownIndexes, failedIndexes }: JobTally,
  newIndexes: readonly number[],
): JobStatus {
  const completed = knownIndexes.union(IndexSet.of(newIndexes));
  return {
    ...status,
    succeeded: completed.total,
    completedIndexes: completed.toString(),
    ...(failedIndexes !== undefined && { failedIndexes: failedIndexes.toString() }),
  };
}

function inIndexOrder({ job }: JobFacts, pods: readonly Pod[]): readonly Pod[] {
  return isIndexed(job)
    ? pods.toSorted((left, right) => (validIndex(job, left) ?? -1) - (validIndex(job, right) ?? -1))
    : pods;
}
