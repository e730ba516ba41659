import { podDisruptionBudgets } from '../../../../api/client/resource-types.ts';
import { isConditionTrue, withCondition } from '../../../../api/conditions.ts';
import type { DeleteOptions } from '../../../../api/core/delete-options.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { isTerminalPod } from '../../../../api/pod.ts';
import type { Eviction } from '../../../../api/policy/eviction.ts';
import { EvictionSchema } from '../../../../api/policy/eviction.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../../api/policy/pod-disruption-budget.ts';
import { matchesLabelSelector } from '../../../../api/selectors.ts';
import {
  ApiStatusError,
  badRequest,
  conflict,
  forbidden,
  invalid,
  isApiError,
} from '../../../../api/status/api-status-error.ts';
import { formatTime } from '../../../../api/time.ts';
import { FieldErrors } from '../../../../api/validation/field-error.ts';
import { DISRUPTION_TARGET } from '../../../../api/reasons.ts';
import type { ActionAccess, SubresourceAction } from '../../../model/resource-definition.ts';
import { success } from './pod-binding.ts';
import { withPodCondition } from './pod-rules.ts';

/**
 * With more evictions that the budget's controller has not processed, the controller is assumed to be down (upstream:
 * MaxDisruptedPodSize).
 */
const MAX_UNCONFIRMED = 2000;
/** The retries of a deletion after conflicts (upstream: EvictionsRetry). */
const ATTEMPTS = 20;

/** POST of an Eviction: deletes the pod if its disruption budget has room. Upstream: EvictionREST. */
export const podEviction: SubresourceAction<Pod> = {
  name: 'eviction',
  kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
  schema: EvictionSchema,
  perform: async (access, body) => {
    // Decoded by the schema above.
    const eviction = body as Eviction;
    if (eviction.metadata.name !== access.name) throw badRequest('name in URL does not match name in Eviction object');
    const options = eviction.deleteOptions ?? {};
    validateOptions(access.name, options);
    await evict(access, { ...options, ...(access.dryRun && { dryRun: ['All'] }) });
    return success;
  },
};

function validateOptions(name: string, options: DeleteOptions): void {
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return;
  const errors = new FieldErrors();
  errors.invalid(
    'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential',
    true,
    'can not be set for pod eviction, try after removing the option',
  );
  throw invalid({ group: 'policy', kind: 'Eviction' }, name, errors.list);
}

async function evict(access: ActionAccess<Pod>, options: DeleteOptions): Promise<void> {
  const ownVersion = options.preconditions?.resourceVersion !== undefined;
  let pod = await access.get();
  for (let attempt = 1; needsNoBudget(pod); attempt++) {
    // A pending pod may become ready meanwhile, and then its budget applies.
    const pinned = pod.status?.phase === 'Pending' && pod.metadata.deletionTimestamp === undefined;
    try {
      return await remove(access, options, ownVersion || !pinned ? undefined : pod.metadata.resourceVersion);
    } catch (error) {
      if (ownVersion || attempt === ATTEMPTS || !isApiError(error, 'Conflict')) throw error;
    }
    pod = await access.get();
  }
  const budgets = access.list(podDisruptionBudgets, access.namespace).filter(({ spec }) => matchesBudget(spec, pod));
  const [budget] = budgets;
  if (budgets.length > 1)
    throw new ApiStatusError(
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  if (budget === undefined) return remove(access, options, undefined);
  if (!isFree(pod, budget)) {
    await spend(access, budget, isDryRun(options));
    return remove(access, options, undefined);
  }
  try {
    await remove(access, options, ownVersion ? undefined : pod.metadata.resourceVersion);
  } catch (error) {
    // It may have become ready, and then its eviction is a disruption.
    throw isApiError(error, 'Conflict') && !ownVersion ? stillProcessing(budget.metadata.name) : error;
  }
}

const isDryRun = ({ dryRun = [] }: DeleteOptions): boolean => dryRun.length > 0;

/** Whether the budget selects the pod. Without a selector it selects nothing, and with an empty one everything. */
function matchesBudget({ selector }: PodDisruptionBudget['spec'], pod: Pod): boolean {
  return selector !== undefined && matchesLabelSelector(selector, pod.metadata.labels ?? {});
}

/** Whether the deletion is no disruption, because the pod is pending, has finished, or is being deleted. */
function needsNoBudget(pod: Pod): boolean {
  return isTerminalPod(pod) || pod.status?.phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
}

/**
 * Evicting a pod that is not ready is no disruption if enough others are healthy, or if the budget's policy always
 * allows it.
 */
function isFree(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (isConditionTrue(pod.status?.conditions, 'Ready')) return false;
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

async function spend(access: ActionAccess<Pod>, budget: PodDisruptionBudget, dryRun: boolean): Promise<void> {
  if (dryRun) {
    spendDisruption(budget, access.name, access.nowMs);
    return;
  }
  await access.updateOther(
    podDisruptionBudgets,
    { namespace: access.namespace, name: budget.metadata.name },
    (current) => spendDisruption(current, access.name, access.nowMs),
    'status',
  );
}

/**
 * Returns the budget with one disruption less, for this pod. Throws TooManyRequests if none is allowed (upstream:
 * checkAndDecrement).
 */
function spendDisruption(budget: PodDisruptionBudget, podName: string, nowMs: number): PodDisruptionBudget {
  const { metadata, status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } } =
    budget;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) throw stillProcessing(metadata.name);
  const budgets = { group: 'policy', plural: 'poddisruptionbudget' };
  if (status.disruptionsAllowed < 0) throw forbidden(budgets, metadata.name, 'pdb disruptions allowed is negative');
  if (Object.keys(status.disruptedPods ?? {}).length > MAX_UNCONFIRMED) {
    throw forbidden(
      budgets,
      metadata.name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  }
  if (status.disruptionsAllowed === 0) throw tooMany(whyNone(metadata.name, status), 0);
  const disruptionsAllowed = status.disruptionsAllowed - 1;
  const disruptedPods = { ...status.disruptedPods, [podName]: formatTime(nowMs) };
  const conditions = disruptionsAllowed === 0 ? withoutRoom(budget, nowMs) : status.conditions;
  return {
    ...budget,
    status: { ...status, disruptionsAllowed, disruptedPods, ...(conditions !== undefined && { conditions }) },
  };
}

function withoutRoom(
  { metadata, status }: PodDisruptionBudget,
  nowMs: number,
): NonNullable<PodDisruptionBudgetStatus['conditions']> {
  const { generation: observedGeneration = 0 } = metadata;
  return withCondition(
    status?.conditions,
    { type: 'DisruptionAllowed', status: 'False', observedGeneration, reason: 'InsufficientPods', message: '' },
    nowMs,
  );
}

function whyNone(name: string, { conditions = [], currentHealthy, desiredHealthy }: PodDisruptionBudgetStatus): string {
  const condition = conditions.find(
    ({ type, status, message }) => type === 'DisruptionAllowed' && status === 'False' && message !== '',
  );
  if (condition?.reason === 'SyncFailed')
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${condition.message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  if (condition !== undefined)
    return `The disruption budget ${name} does not allow evicting pods currently (${condition.reason}): ${condition.message}`;
  return `The disruption budget ${name} does not allow evicting pods currently`;
}

const stillProcessing = (budgetName: string): ApiStatusError =>
  tooMany(`The disruption budget ${budgetName} is still being processed by the server.`, 10);

function tooMany(why: string, retryAfterSeconds: number): ApiStatusError {
  const causes = [{ reason: 'DisruptionBudget', message: why }];
  return new ApiStatusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes,
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
  });
}

/**
 * Adds the condition DisruptionTarget to the pod, then deletes it. With `pinned`, only this resource version is
 * deleted.
 */
async function remove(access: ActionAccess<Pod>, options: DeleteOptions, pinned: string | undefined): Promise<void> {
  const { gracePeriodSeconds, preconditions } = options;
  const uid = preconditions?.uid || undefined;
  const resourceVersion = pinned ?? (preconditions?.resourceVersion || undefined);
  if (isDryRun(options)) {
    checkPreconditions(await access.get(), uid, resourceVersion);
    return;
  }
  const marked = await access.update((pod) => {
    checkPreconditions(pod, uid, resourceVersion);
    return markEvicted(pod, access.nowMs);
  });
  await access.delete({
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined &&
      marked.metadata.resourceVersion !== undefined && { resourceVersion: marked.metadata.resourceVersion }),
  });
}

function markEvicted(pod: Pod, nowMs: number): Pod {
  const condition = {
    type: DISRUPTION_TARGET,
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  } as const;
  return { ...pod, status: withPodCondition(pod.status ?? {}, condition, nowMs) };
}

function checkPreconditions({ metadata }: Pod, uid: string | undefined, resourceVersion: string | undefined): void {
  const refuse = (why: string): ApiStatusError => conflict({ group: '', plural: 'Pod' }, metadata.name, why);
  if (uid !== undefined && uid !== metadata.uid) {
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ''}). The object might have been modified`,
    );
  }
}
