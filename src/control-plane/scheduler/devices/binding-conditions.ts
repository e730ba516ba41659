import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { deviceKey } from '../../../api/resource/device-key.ts';
import { parseTime } from '../../../api/time.ts';

/** Whether the binding conditions of a claim's devices allow the pod to be bound. */
export type BindingReadiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed'; readonly message: string };

/** Computes the readiness of an allocated claim (upstream: isClaimReadyForBinding). */
export function computeBindingReadiness({ metadata, status }: ResourceClaim): BindingReadiness {
  let isPending = status?.allocation === undefined;
  const reports = new Map((status?.devices ?? []).map((device) => [deviceKey(device), device]));
  for (const result of status?.allocation?.devices.results ?? []) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const conditions = new Map((reports.get(deviceKey(result))?.conditions ?? []).map((each) => [each.type, each]));
    const failed = bindingFailureConditions.find((type) => conditions.get(type)?.status === 'True');
    if (failed !== undefined) {
      const { reason, message = '' } = conditions.get(failed) ?? {};
      return {
        kind: 'failed',
        message: `device binding failed: claim=${metadata.name}, reason=${reason}, message=${JSON.stringify(message)}`,
      };
    }
    isPending ||= bindingConditions.some((type) => conditions.get(type)?.status !== 'True');
  }
  return { kind: isPending ? 'pending' : 'ready' };
}

export const hasBindingConditions = ({ status }: ResourceClaim): boolean =>
  (status?.allocation?.devices.results ?? []).some(({ bindingConditions = [] }) => bindingConditions.length > 0);

/** Returns the deadline for the binding conditions, in milliseconds since the epoch. */
export function bindingDeadlineMs({ status }: ResourceClaim, timeoutMs: number, nowMs: number): number {
  return (parseTime(status?.allocation?.allocationTimestamp) ?? nowMs) + timeoutMs;
}
