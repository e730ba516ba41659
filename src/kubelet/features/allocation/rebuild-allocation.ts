import { ownValue } from '../../../base/lookup.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import { allocationOf, resizable } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { quantityOf, quantityOfMillis } from '../../../api/quantity.ts';
import { runsAsAsked } from '../../model/actual-resources.ts';
import { milliCpuOfQuota, milliCpuOfShares } from '../../model/cpu-units.ts';
import type { ContainerRuntimeResources, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { newestContainer } from '../../model/runtime-status.ts';

/**
 * Rebuilds the allocation of a pod whose record is lost. It is what the spec requests, unless a running container was
 * created with other resources: then the spec requests a resize that is not allocated yet. The runtime does not know
 * memory requests, so these come from the spec.
 */
export function rebuildAllocation(
  pod: Pod,
  runtime: PodRuntimeStatus | undefined,
  actuated: PodAllocation | undefined,
): PodAllocation {
  const asked = allocationOf(pod);
  if (runtime === undefined) return asked;
  const containers: Record<string, ResourceRequirements> = { ...asked.containers };
  for (const container of resizable(pod)) {
    const run = newestContainer(runtime, container.name);
    if (run?.state !== 'running' || run.resources === undefined || runsAsAsked(pod, container, run.resources)) continue;
    containers[container.name] = asMade(container, run.resources, ownValue(actuated?.containers, container.name));
  }
  return { ...asked, containers };
}

function asMade(
  container: Container,
  made: ContainerRuntimeResources,
  recorded: ResourceRequirements | undefined,
): ResourceRequirements {
  const { limits, requests } = container.resources ?? {};
  const memoryRequest = recorded?.requests?.['memory'] ?? requests?.['memory'];
  const cpuLimit = milliCpuOfQuota(made.cpuQuota, made.cpuPeriod);
  const own: ResourceRequirements = {};
  if (requests !== undefined)
    own.requests = {
      ...requests,
      ...(requests['cpu'] === undefined ? {} : { cpu: quantityOfMillis(milliCpuOfShares(made.cpuShares)) }),
      ...(memoryRequest === undefined ? {} : { memory: memoryRequest }),
    };
  if (limits !== undefined) {
    own.limits = { ...limits };
    if (limits['cpu'] !== undefined && cpuLimit > 0) own.limits['cpu'] = quantityOfMillis(cpuLimit);
    if (limits['memory'] !== undefined && made.memoryLimitBytes > 0)
      own.limits['memory'] = quantityOf(made.memoryLimitBytes, 'BinarySI');
  }
  return own;
}
