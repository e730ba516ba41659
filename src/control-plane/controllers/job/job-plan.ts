import type { Job } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isPodTerminating } from '../../controller-runtime/pod-facts.ts';
import { rankForDeletion } from '../../controller-runtime/deletion-rank.ts';
import { IndexSet } from './index-set.ts';
import { failureWaitMs, finishedAtMs } from './job-backoff.ts';
import type { FailureRecord } from './job-backoff.ts';
import {
  completionIndex,
  indexFailures,
  indexIgnoredFailures,
  isIndexed,
  isSuspended,
  onlyReplacesFailed,
  validIndex,
} from './job-facts.ts';
import type { JobFacts, JobTally } from './job-facts.ts';

/** The maximum number of pods created or deleted in one pass (upstream: MaxPodCreateDeletePerSync). */
const BURST = 500;

export type JobPlan =
  | { readonly kind: 'nothing' }
  /** There are surplus pods; they do not count as failed. */
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] }
  /** Pods are missing. Without indexes, each element is `undefined`. */
  | { readonly kind: 'create'; readonly indexes: readonly (number | undefined)[] }
  /** Pods are missing but failed too recently. */
  | { readonly kind: 'wait'; readonly ms: number };

/** Plans the pods of an unfinished job (upstream: manageJob). */
export function planPods(facts: JobFacts, tally: JobTally, record: FailureRecord | undefined): JobPlan {
  const { job, nowMs, pods } = facts;
  const { active } = tally;
  const wanted = isSuspended(job) ? 0 : wantedActive(job, tally);
  const surplus = isSuspended(job) ? pods.listActive() : selectSurplus(facts, Math.max(0, active - wanted));
  if (surplus.length > 0) return { kind: 'delete', pods: surplus.slice(0, BURST) };
  const missing = wanted - active - (onlyReplacesFailed(job) ? tally.terminating : 0);
  if (isSuspended(job) || missing <= 0) return { kind: 'nothing' };
  if (job.spec.backoffLimitPerIndex !== undefined && isIndexed(job))
    return planIndexes(facts, tally, Math.min(missing, BURST));
  const waitMs = failureWaitMs(record, nowMs);
  if (waitMs > 0) return { kind: 'wait', ms: waitMs };
  const count = Math.min(missing, BURST);
  const indexes = isIndexed(job) ? firstPending(facts, tally, count) : Array.from({ length: count }, () => undefined);
  return indexes.length === 0 ? { kind: 'nothing' } : { kind: 'create', indexes };
}

/**
 * Returns the desired number of active pods: with completions, at most the missing number; without, up to the
 * parallelism until one pod has succeeded.
 */
function wantedActive({ spec }: Job, { succeeded, active }: JobTally): number {
  const parallelism = spec.parallelism ?? 1;
  if (spec.completions === undefined) return succeeded > 0 ? active : parallelism;
  return Math.max(0, Math.min(parallelism, spec.completions - succeeded));
}

/** Selects at least `atLeast` pods; for Indexed jobs also pods with a duplicate or unneeded index. */
function selectSurplus({ job, pods, nowMs }: JobFacts, atLeast: number): Pod[] {
  if (atLeast === 0 && (!isIndexed(job) || pods.activeIndexes.total === pods.active)) return [];
  const ranked = rankForDeletion(pods.listActive(), [], nowMs);
  const surplus = new Set<Pod>();
  if (isIndexed(job)) {
    const seen = new Set<number>();
    // The loop keeps the pod with the lowest deletion rank.
    for (const pod of ranked.toReversed()) {
      const index = validIndex(job, pod);
      if (index === undefined || seen.has(index)) surplus.add(pod);
      else seen.add(index);
    }
  }
  for (const pod of ranked) {
    if (surplus.size >= atLeast) break;
    surplus.add(pod);
  }
  return [...surplus];
}

function firstPending(
  { job, pods }: JobFacts,
  { succeededIndexes, failedIndexes = IndexSet.empty }: JobTally,
  count: number,
): number[] {
  const waited = onlyReplacesFailed(job) ? pods.others.filter(isPodTerminating) : [];
  return succeededIndexes
    .union(pods.activeIndexes)
    .union(IndexSet.of(waited.flatMap((pod) => completionIndex(pod) ?? [])))
    .union(failedIndexes)
    .firstMissing(count, job.spec.completions ?? 0);
}

/** Plans the indexes. Each has its own back-off. */
function planIndexes(facts: JobFacts, tally: JobTally, count: number): JobPlan {
  const waits = firstPending(facts, tally, count).map((index) => {
    const held = tally.heldByIndex.get(index);
    const record =
      held === undefined
        ? undefined
        : { failures: indexFailures(held) + indexIgnoredFailures(held) + 1, lastMs: finishedAtMs(held) };
    return { index, ms: failureWaitMs(record, facts.nowMs) };
  });
  const due = waits.filter(({ ms }) => ms === 0).map(({ index }) => index);
  if (due.length > 0) return { kind: 'create', indexes: due };
  return waits.length === 0 ? { kind: 'nothing' } : { kind: 'wait', ms: Math.min(...waits.map(({ ms }) => ms)) };
}
