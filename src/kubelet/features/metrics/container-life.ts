import type { Pod } from '../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { AgentMetrics } from './agent-metrics.ts';

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container' | 'podsandbox';

export function containerType(pod: Pod | undefined, name: string): ContainerType {
  if (pod?.spec.initContainers?.some((container) => container.name === name) === true) return 'init_container';
  return pod?.spec.ephemeralContainers?.some((container) => container.name === name) === true
    ? 'ephemeral_container'
    : 'container';
}

/**
 * Counts containers that ran and have now ended. A container that had already ended when it was first seen does not
 * count.
 */
export function noteEnds(
  { main }: Pick<AgentMetrics, 'main'>,
  pod: Pod | undefined,
  before: PodRuntimeStatus | undefined,
  after: PodRuntimeStatus | undefined,
): void {
  const ran = new Set(before?.containers.filter(({ state }) => state === 'running').map(({ id }) => id));
  for (const { id, name, state, exitCode, reason } of after?.containers ?? []) {
    if (state === 'exited' && ran.has(id))
      main.count('kubelet_terminated_containers_total', {
        container_type: containerType(pod, name),
        exit_code: String(exitCode),
        reason,
      });
  }
}
