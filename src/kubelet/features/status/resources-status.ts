import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList, ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { withAllocation } from '../../../api/pod-allocation.ts';
import { quantityOf, quantityOfMillis } from '../../../api/quantity.ts';
import { podLimits, podRequests } from '../../../api/resources.ts';
import { bytesOf, milliOf } from '../../model/actual-resources.ts';
import { milliCpuOfQuota, milliCpuOfShares } from '../../model/cpu-units.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { ActuatedRecords } from './interfaces.ts';

/**
 * The smallest values that the kernel can store. Below them, the allocated value is shown (upstream:
 * cm.MinMilliCPULimit, cm.MinShares).
 */
const MIN_LIMIT_MILLI = 10;
const MIN_REQUEST_MILLI = 2;

/**
 * Returns the current resources of a container from the first source that has them: the values sent to the runtime, the
 * record, the allocation (upstream: kubelet_pods.go convertContainerStatusResources).
 */
export function containerStatusResources(
  container: AnyContainer,
  run: ContainerRuntimeStatus,
  recorded: ResourceRequirements | undefined,
): ResourceRequirements {
  const { limits, requests } = container.resources ?? {};
  const shown: ResourceRequirements = {
    ...(limits === undefined ? {} : { limits: { ...limits } }),
    ...(requests === undefined ? {} : { requests: { ...requests } }),
  };
  if (run.state !== 'running') return shown;
  const made = run.resources;
  const cpuLimit =
    made === undefined ? milliOf(recorded?.limits, 'cpu') : milliCpuOfQuota(made.cpuQuota, made.cpuPeriod);
  const memoryLimit = made === undefined ? bytesOf(recorded?.limits, 'memory') : made.memoryLimitBytes;
  const cpuRequest = made === undefined ? milliOf(recorded?.requests, 'cpu') : milliCpuOfShares(made.cpuShares);
  const memoryRequest = bytesOf(recorded?.requests, 'memory');
  if (shown.limits !== undefined) {
    if (cpuLimit > 0 && Math.max(cpuLimit, milliOf(limits, 'cpu')) > MIN_LIMIT_MILLI)
      shown.limits['cpu'] = quantityOfMillis(cpuLimit);
    if (memoryLimit > 0) shown.limits['memory'] = quantityOf(memoryLimit, 'BinarySI');
  }
  if (shown.requests !== undefined) {
    if (cpuRequest > 0 && Math.max(cpuRequest, milliOf(requests, 'cpu')) > MIN_REQUEST_MILLI)
      shown.requests['cpu'] = quantityOfMillis(cpuRequest);
    if (memoryRequest > 0) shown.requests['memory'] = quantityOf(memoryRequest, 'BinarySI');
  }
  return shown;
}

/**
 * Returns the allocated and the recorded resources of the whole pod. Upstream reads the latter from the pod's cgroup,
 * where they are rounded.
 */
export function podStatusResources(
  pod: Pod,
  records: ActuatedRecords | undefined,
): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const allocatedResources = podRequests(pod);
  const actual =
    records === undefined
      ? pod
      : withAllocation(pod, {
          containers: recordsOf(pod, records),
          ...(pod.spec.resources === undefined ? {} : { pod: records.podLevel ?? pod.spec.resources }),
        });
  const requests = actual === pod ? { ...allocatedResources } : podRequests(actual);
  const resources = nonEmpty(requests, podLimits(actual));
  return { ...(Object.keys(allocatedResources).length === 0 ? {} : { allocatedResources }), resources };
}

function recordsOf(pod: Pod, records: ActuatedRecords): Record<string, ResourceRequirements> {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return Object.fromEntries(
    all.flatMap(({ name, resources }) => {
      const recorded = records.container(name);
      // Recorded limits are effective limits, which may come from the pod-level limits.
      return recorded === undefined || resources === undefined
        ? []
        : [[name, { ...resources, ...pick(recorded, resources) }] as const];
    }),
  );
}

function pick(recorded: ResourceRequirements, asked: ResourceRequirements): ResourceRequirements {
  const only = (list: ResourceList | undefined, names: ResourceList | undefined): ResourceList =>
    Object.fromEntries(Object.entries(names ?? {}).map(([name, amount]) => [name, list?.[name] ?? amount]));
  return {
    ...(asked.limits === undefined ? {} : { limits: only(recorded.limits, asked.limits) }),
    ...(asked.requests === undefined ? {} : { requests: only(recorded.requests, asked.requests) }),
  };
}

function nonEmpty(requests: ResourceList, limits: ResourceList): ResourceRequirements {
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}
