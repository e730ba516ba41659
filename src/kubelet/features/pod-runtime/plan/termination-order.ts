import type { Pod } from '../../../../api/core/pod.ts';
import { isRestartableInit } from '../../../../api/pod.ts';

/**
 * Returns the containers that must have ended before a container is stopped (upstream:
 * kuberuntime_termination_order.go). A sidecar waits for all regular containers and for the sidecars after it; no other
 * container waits. Only containers in `running` are waited for.
 */
export function computeTerminationOrder(pod: Pod, running: readonly string[]): Map<string, string[]> {
  const alive = new Set(running);
  const order = new Map<string, string[]>();
  const before = pod.spec.containers.map((container) => container.name).filter((name) => alive.has(name));
  for (const container of [...(pod.spec.initContainers ?? [])].reverse()) {
    if (!isRestartableInit(container)) continue;
    order.set(container.name, [...before]);
    if (alive.has(container.name)) before.push(container.name);
  }
  return order;
}
