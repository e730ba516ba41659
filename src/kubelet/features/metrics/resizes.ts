import type { Pod } from '../../../api/core/pod.ts';
import { resizable } from '../../../api/pod-allocation.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

/** Counts changes of the resources that a source requests (upstream: kubelet.go recordContainerResizeOperations). */
export function noteRequestedResizes({ main }: Main, before: Pod, after: Pod): void {
  const now = new Map(resizable(after).map((container) => [container.name, container]));
  for (const { name, resources: had } of resizable(before)) {
    const container = now.get(name);
    if (container === undefined) continue;
    for (const resource of ['memory', 'cpu']) {
      for (const requirement of ['requests', 'limits'] as const) {
        const operation = resizeOperation(
          had?.[requirement]?.[resource] ?? '0',
          container.resources?.[requirement]?.[resource] ?? '0',
        );
        if (operation !== undefined)
          main.count('kubelet_container_requested_resizes_total', { resource, requirement, operation });
      }
    }
  }
}

function resizeOperation(before: string, after: string): 'add' | 'remove' | 'increase' | 'decrease' | undefined {
  const change = compareQuantities(after, before);
  if (change === 0) return undefined;
  if (compareQuantities(after, '0') === 0) return 'remove';
  if (compareQuantities(before, '0') === 0) return 'add';
  return change < 0 ? 'decrease' : 'increase';
}

/** Sets the number of current resizes. */
export function countResizes(
  { main }: Main,
  { pending, inProgress }: { pending: ReadonlyMap<string, number>; inProgress: number },
): void {
  main.clear('kubelet_pod_pending_resizes');
  for (const [reason, count] of pending)
    main.set('kubelet_pod_pending_resizes', { reason: reason.toLowerCase() }, count);
  main.set('kubelet_pod_in_progress_resizes', {}, inProgress);
}

/** Counts resizes that were allocated after they had been deferred, and infeasible ones. */
export function observedResizes({ main }: Pick<AgentMetrics, 'main'>): {
  deferredAccepted(trigger: string): void;
  infeasible(cause: string): void;
} {
  return {
    deferredAccepted: (trigger) =>
      main.count('kubelet_pod_deferred_accepted_resizes_total', { retry_trigger: trigger }),
    infeasible: (cause) => main.count('kubelet_pod_infeasible_resizes_total', { reason_detail: cause }),
  };
}
