import type { Job, JobCondition } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { formatTime, parseTime } from '../../../api/time.ts';
import { IndexSet } from './index-set.ts';
import { isFailed, isIndexed, isSuspended, trueCondition } from './job-facts.ts';
import type { JobFacts, JobPods, JobTally } from './job-facts.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

/**
 * The end of a job. First the status announces the result (FailureTarget, SuccessCriteriaMet), then its pods end and
 * are counted, then the job is Failed or Complete. `announced` means that the status already contains the announcement.
 */
export interface Ending {
  readonly kind: 'failure' | 'success';
  readonly reason: string;
  readonly message: string;
  readonly announced: boolean;
}

const failure = (reason: string, message: string): Ending => ({ kind: 'failure', reason, message, announced: false });

/**
 * Decides whether and how the job ends, apart from completions. An announced result is final; failures take precedence
 * over successes (upstream: syncJob).
 */
export function judgeEnding(facts: JobFacts, tally: JobTally): Ending | undefined {
  const { job, pods } = facts;
  const known = trueCondition(job, 'SuccessCriteriaMet') ?? trueCondition(job, 'FailureTarget');
  if (known !== undefined)
    return {
      kind: known.type === 'FailureTarget' ? 'failure' : 'success',
      reason: known.reason ?? '',
      message: known.message ?? '',
      announced: true,
    };
  return (
    judgePolicy(job, pods.others) ??
    judgeLimits(facts, tally) ??
    judgeIndexes(job, tally) ??
    judgeSuccessPolicy(job, tally)
  );
}

export const completionsReached: Ending = {
  kind: 'success',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
  announced: false,
};

/**
 * Whether the job is complete: it has the required number of successes, or one success without a required number, and
 * no active pods.
 */
export function isCompleted({ spec }: Job, succeeded: number, active: number): boolean {
  return active === 0 && succeeded >= (spec.completions ?? 1);
}

/** Returns the milliseconds until the active deadline. */
export function deadlineLeftMs(job: Job, nowMs: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  const startedMs = parseTime(job.status?.startTime);
  if (activeDeadlineSeconds === undefined || startedMs === undefined || isSuspended(job)) return undefined;
  return startedMs + Number(activeDeadlineSeconds) * 1000 - nowMs;
}

function judgePolicy(job: Job, pods: readonly Pod[]): Ending | undefined {
  const { podFailurePolicy } = job.spec;
  if (podFailurePolicy === undefined) return undefined;
  for (const pod of pods) {
    const message = isFailed(job, pod) ? matchFailurePolicy(podFailurePolicy, pod).message : undefined;
    if (message !== undefined) return failure('PodFailurePolicy', message);
  }
  return undefined;
}

function judgeLimits({ job, pods, nowMs }: JobFacts, { failed }: JobTally): Ending | undefined {
  const limit = job.spec.backoffLimit ?? 6;
  if (failed > limit || restartsExceed(job, pods, limit))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  return (deadlineLeftMs(job, nowMs) ?? 1) <= 0
    ? failure('DeadlineExceeded', 'Job was active longer than specified deadline')
    : undefined;
}

/** Whether container restarts exceed the limit. In pods that restart their containers, restarts are the failures. */
function restartsExceed({ spec }: Job, { restarts }: JobPods, limit: number): boolean {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function judgeIndexes({ spec }: Job, { failedIndexes, succeededIndexes }: JobTally): Ending | undefined {
  if (failedIndexes === undefined) return undefined;
  const failed = failedIndexes.total;
  if (spec.maxFailedIndexes !== undefined && failed > spec.maxFailedIndexes)
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  return failed > 0 && failed + succeededIndexes.total >= (spec.completions ?? 0)
    ? failure('FailedIndexes', 'Job has failed indexes')
    : undefined;
}

function judgeSuccessPolicy(job: Job, { succeededIndexes }: JobTally): Ending | undefined {
  if (!isIndexed(job) || succeededIndexes.total === 0) return undefined;
  for (const [index, rule] of (job.spec.successPolicy?.rules ?? []).entries()) {
    const wanted =
      rule.succeededIndexes === undefined
        ? undefined
        : IndexSet.parse(rule.succeededIndexes, job.spec.completions ?? 0);
    const got = wanted === undefined ? succeededIndexes.total : wanted.overlap(succeededIndexes);
    const all = wanted !== undefined && wanted.total > 0 && got === wanted.total;
    const enough =
      (wanted === undefined || wanted.total > 0) && rule.succeededCount !== undefined && got >= rule.succeededCount;
    if (all || enough)
      return { kind: 'success', reason: 'SuccessPolicy', message: `Matched rules at index ${index}`, announced: false };
  }
  return undefined;
}

export function jobCondition(
  type: string,
  status: JobCondition['status'],
  reason: string,
  message: string,
  nowMs: number,
): JobCondition {
  const now = formatTime(nowMs);
  return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message };
}

/** Adds the condition. Returns the same list if it is already there, or if a False condition would be new. */
export function withCondition(conditions: readonly JobCondition[], condition: JobCondition): readonly JobCondition[] {
  const known = conditions.find(({ type }) => type === condition.type);
  if (known === undefined) return condition.status === 'False' ? conditions : [...conditions, condition];
  if (known.status === condition.status && known.reason === condition.reason && known.message === condition.message)
    return conditions;
  return conditions.map((each) => (each === known ? condition : each));
}
