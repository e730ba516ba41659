import type { Random } from '../../../base/random.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { errorMessage } from '../../../base/errors.ts';
import { CLAIM_FINALIZER } from '../../../api/resource/device-config.ts';
import { canBeReserved, isReservedFor } from '../../../api/resource/pod-claims.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import type { ClaimPlan } from '../framework/plugin.ts';
import type { SchedulerContext } from './context.ts';

type Entry = ClaimPlan[number];

/** The maximum length of a generateName; the API server appends a suffix. */
const LONGEST_BASE = 58;
const SUFFIX_LENGTH = 5;

/** Returns the claim with the decided allocation and with the pod in its reservations. */
export function reservedClaim({ claim, allocation }: Entry, pod: Pod): ResourceClaim {
  const { name, uid } = pod.metadata;
  const reservedFor = isReservedFor(claim, pod)
    ? (claim.status?.reservedFor ?? [])
    : [...(claim.status?.reservedFor ?? []), { resource: 'pods', name, uid }];
  return { ...claim, status: { ...claim.status, ...(allocation !== undefined && { allocation }), reservedFor } };
}

/** Names the claims to create, so that later decisions can refer to them. */
export function nameClaims(plan: ClaimPlan, random: Random): ClaimPlan {
  return plan.map((entry) => {
    if (entry.creates === undefined) return entry;
    const base = (entry.claim.metadata.generateName ?? '').slice(0, LONGEST_BASE);
    const name = `${base}${random.uuid().replaceAll('-', '').slice(0, SUFFIX_LENGTH)}`;
    return { ...entry, claim: { ...entry.claim, metadata: { ...entry.claim.metadata, name } } };
  });
}

/** Writes the allocations and reservations before the pod is bound (upstream: DynamicResources bindClaim). */
export async function bindClaims(context: SchedulerContext, plan: ClaimPlan, pod: Pod): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  for (const entry of plan) {
    let isWritten = false;
    try {
      if (failure === undefined) await bindEntry(context, { entry, pod, onWritten: () => (isWritten = true) });
    } catch (error) {
      failure = { error };
    }
    context.objects.assumedResourceClaims.settle(entry.claim, isWritten ? 'written' : 'failed');
  }
  if (failure !== undefined) throw failure.error;
}

const UNRESERVE_TRIES = 5;

/**
 * Removes a pod that could not be bound from the reservations of its claims, so that others can use them. Allocations
 * stay. It never rejects: if a write fails, the claim controller removes the reservation after the pod is deleted
 * (upstream: DynamicResources Unreserve).
 */
export async function unreserveClaims(context: SchedulerContext, plan: ClaimPlan, pod: Pod): Promise<void> {
  if (plan.length === 0) return;
  try {
    // The response to a bind may have been lost, and a pod on a node needs its claims.
    const now = await context.client.get(pods, keyOf(pod));
    if (now.metadata.uid !== pod.metadata.uid || (now.spec.nodeName ?? '') !== '') return;
    for (const { claim, creates } of plan) if (creates === undefined) await unreserveClaim(context, claim, pod);
  } catch (error) {
    if (!isApiError(error, 'NotFound') && !context.stopping.aborted)
      context.log.warn('a claim stays reserved for a pod that could not be bound', {
        pod: podKey(pod),
        error: errorMessage(error),
      });
  }
}

async function unreserveClaim({ client }: SchedulerContext, claim: ResourceClaim, pod: Pod): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const now = await client.get(resourceClaims, keyOf(claim));
      if (now.metadata.uid !== claim.metadata.uid || !isReservedFor(now, pod)) return;
      const reservedFor = (now.status?.reservedFor ?? []).filter(({ uid }) => uid !== pod.metadata.uid);
      await client.update(
        resourceClaims,
        { ...now, status: { ...now.status, reservedFor } },
        { subresource: 'status' },
      );
      return;
    } catch (error) {
      if (isApiError(error, 'NotFound')) return;
      if (!isApiError(error, 'Conflict') || attempt >= UNRESERVE_TRIES) throw error;
    }
  }
}

interface EntryBinding {
  readonly entry: Entry;
  readonly pod: Pod;
  /** Called after each successful write of the allocation, even if a later one fails. */
  readonly onWritten: () => void;
}

async function bindEntry(context: SchedulerContext, { entry, pod, onWritten }: EntryBinding): Promise<void> {
  const { creates } = entry;
  const claim = creates === undefined ? entry.claim : await createClaim(context, entry.claim);
  await bindClaim(context, { ...entry, claim }, pod);
  onWritten();
  if (creates === undefined) return;
  const status = {
    extendedResourceClaimStatus: { resourceClaimName: claim.metadata.name, requestMappings: creates },
  };
  const body = { metadata: { uid: pod.metadata.uid }, status };
  await context.client.patch(pods, keyOf(pod), { type: 'strategic', body }, { subresource: 'status' });
}

async function createClaim({ client, claimMetrics }: SchedulerContext, claim: ResourceClaim): Promise<ResourceClaim> {
  let isError = true;
  try {
    const made = await client.create(resourceClaims, claim);
    isError = false;
    return made;
  } finally {
    claimMetrics?.created('scheduler', isError, false);
  }
}

/**
 * Deletes the claim for the extended resources of a pod that could not be bound; the next attempt creates another one.
 * Rejects if the deletion must be retried.
 */
export async function removeExtendedClaim({ client, objects }: SchedulerContext, podUid: string): Promise<void> {
  const known = objects.extendedClaim(podUid);
  if (known === undefined) return;
  try {
    const claim = await client.get(resourceClaims, keyOf(known));
    if (claim.metadata.uid !== known.metadata.uid) return;
    const finalizers = (claim.metadata.finalizers ?? []).filter((each) => each !== CLAIM_FINALIZER);
    if (finalizers.length < (claim.metadata.finalizers ?? []).length)
      await client.update(resourceClaims, { ...claim, metadata: { ...claim.metadata, finalizers } });
    await client.delete(resourceClaims, keyOf(claim), { preconditions: { uid: claim.metadata.uid } });
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
  }
}

async function bindClaim({ client, objects, clock }: SchedulerContext, entry: Entry, pod: Pod): Promise<void> {
  const update = async (changed: ResourceClaim, subresource?: 'status'): Promise<ResourceClaim> => {
    const after = await client.update(resourceClaims, changed, subresource === undefined ? {} : { subresource });
    objects.assumedResourceClaims.wroteOver(changed);
    return after;
  };
  let { claim } = entry;
  const name = claim.metadata.name;
  for (;;) {
    try {
      const { finalizers = [] } = claim.metadata;
      // Removing the finalizer comes first: it keeps an allocated claim from being deleted.
      if (!finalizers.includes(CLAIM_FINALIZER))
        claim = await update({
          ...claim,
          metadata: { ...claim.metadata, finalizers: [...finalizers, CLAIM_FINALIZER] },
        });
      const reserved = reservedClaim({ ...entry, claim }, pod);
      await update(entry.allocation === undefined ? reserved : stamped(reserved, clock.nowMs()), 'status');
      return;
    } catch (error) {
      if (!isApiError(error, 'Conflict')) throw error;
      claim = await client.get(resourceClaims, keyOf(claim));
    }
    if (claim.metadata.uid !== entry.claim.metadata.uid || claim.metadata.deletionTimestamp !== undefined)
      throw new Error(`claim ${name} got deleted in the meantime`);
    const allocation = claim.status?.allocation;
    if (entry.allocation === undefined && allocation === undefined)
      throw new Error(`claim ${name} got deallocated elsewhere in the meantime`);
    if (entry.allocation !== undefined && allocation !== undefined && !sameDevices(allocation, entry.allocation))
      throw new Error(`claim ${name} got allocated elsewhere in the meantime`);
    if (!isReservedFor(claim, pod) && !canBeReserved(claim)) throw new Error(`claim ${name} has too many users`);
  }
}

/** Returns the claim with an allocation time, if it has none. */
function stamped(claim: ResourceClaim, nowMs: number): ResourceClaim {
  const allocation = claim.status?.allocation;
  if (allocation === undefined || allocation.allocationTimestamp !== undefined) return claim;
  return {
    ...claim,
    status: { ...claim.status, allocation: { ...allocation, allocationTimestamp: formatTime(nowMs) } },
  };
}

function sameDevices(actual: AllocationResult, decided: AllocationResult): boolean {
  const { allocationTimestamp: _, ...rest } = actual;
  return semanticEqual(rest, decided);
}
