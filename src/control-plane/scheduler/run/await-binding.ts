import { keyOf } from '../../../api/client/resource-type.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import { resourceClaims } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isOnlyFor } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { BindingConditionsWait } from '../../controller-runtime/claim-metrics.ts';
import { bindingDeadlineMs, computeBindingReadiness, hasBindingConditions } from '../devices/binding-conditions.ts';
import type { SchedulerContext } from './context.ts';

export interface BindingWait {
  readonly pod: Pod;
  readonly claims: readonly ObjectKey[];
  readonly timeoutMs: number;
  /** Called once if the drivers are not ready yet. */
  readonly onWait: () => void;
}

/**
 * Resolves when the drivers have prepared the devices of all claims for the node. Rejects if the preparation of a
 * device failed or timed out; its claim is then deallocated, so that other devices are tried (upstream:
 * DynamicResources PreBind).
 */
export async function awaitBindingConditions(context: SchedulerContext, wait: BindingWait): Promise<void> {
  const { clock, objects, stopping } = context;
  const claimsNow = (): ResourceClaim[] =>
    wait.claims.flatMap((key) => objects.resourceClaim(key.namespace, key.name) ?? []);
  if (!claimsNow().some(hasBindingConditions)) return;
  wait.onWait();
  const startMs = clock.monotonicMs();
  const outcome = await new Promise<Outcome>((resolve) => {
    const look = (): void => {
      if (stopping.aborted) return stop();
      const next = outcomeOf(claimsNow(), wait.timeoutMs, clock.nowMs());
      if ('isOver' in next) end(next);
      else {
        timer?.cancel();
        timer = clock.setTimer(next.leftMs, look);
      }
    };
    const end = (result: Outcome): void => {
      timer?.cancel();
      unfollow();
      stopping.removeEventListener('abort', stop);
      resolve(result);
    };
    const stop = (): void => end({ isOver: true, status: 'error', error: 'the scheduler stops' });
    let timer: ReturnType<typeof clock.setTimer> | undefined;
    const unfollow = objects.onClaimChange(look);
    stopping.addEventListener('abort', stop, { once: true });
    look();
  });
  noteWait(context, { wait, claims: claimsNow(), status: outcome.status, durationMs: clock.monotonicMs() - startMs });
  if (outcome.error === undefined) return;
  if (outcome.claim !== undefined && !stopping.aborted) await deallocate(context, outcome.claim, wait.pod);
  throw new Error(outcome.error);
}

interface Outcome {
  readonly isOver: true;
  readonly status: BindingConditionsWait['status'];
  readonly error?: string;
  readonly claim?: ResourceClaim;
}

function outcomeOf(
  claims: readonly ResourceClaim[],
  timeoutMs: number,
  nowMs: number,
): Outcome | { readonly leftMs: number } {
  let leftMs = Infinity;
  for (const claim of claims) {
    const readiness = computeBindingReadiness(claim);
    if (readiness.kind === 'failed') return { isOver: true, status: 'failure', error: readiness.message, claim };
    if (readiness.kind === 'ready') continue;
    leftMs = Math.min(leftMs, bindingDeadlineMs(claim, timeoutMs, nowMs) - nowMs);
    if (leftMs <= 0)
      return { isOver: true, status: 'timeout', error: `device binding timeout: claim=${claim.metadata.name}`, claim };
  }
  return leftMs === Infinity ? { isOver: true, status: 'success' } : { leftMs };
}

function noteWait(
  { claimMetrics }: SchedulerContext,
  {
    wait,
    claims,
    status,
    durationMs,
  }: {
    readonly wait: BindingWait;
    readonly claims: readonly ResourceClaim[];
    readonly status: BindingConditionsWait['status'];
    readonly durationMs: number;
  },
): void {
  const profile = wait.pod.spec.schedulerName ?? '';
  for (const claim of claims)
    for (const { driver, bindingConditions = [] } of claim.status?.allocation?.devices.results ?? [])
      claimMetrics?.waited({ profile, driver, status, durationMs, isConditional: bindingConditions.length > 0 });
}

/** Deallocates a claim that no other pod uses. Concurrent changes of the claim are kept. */
export async function deallocate({ client }: SchedulerContext, claim: ResourceClaim, pod: Pod): Promise<void> {
  try {
    const now = await client.get(resourceClaims, keyOf(claim));
    if (now.metadata.uid !== claim.metadata.uid || !isOnlyFor(now, pod)) return;
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = now.status ?? {};
    await client.update(resourceClaims, { ...now, status }, { subresource: 'status' });
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
  }
}
