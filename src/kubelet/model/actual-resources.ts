import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ResourceList } from '../../api/core/resource-requirements.ts';
import { effectiveLimits } from '../../api/pod-allocation.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { quotaOfMilliCpu, sharesOfMilliCpu } from './cpu-units.ts';
import type { ContainerRuntimeResources } from './runtime-status.ts';

/**
 * Whether the CPU and memory values that were sent to the runtime are those of this spec. Runtimes do not know memory
 * requests. Shares may differ by the rounding of cgroup v2 weights, unless `exactly` is set.
 */
export function runsAsAsked(pod: Pod, container: Container, made: ContainerRuntimeResources, exactly = false): boolean {
  const limits = effectiveLimits(pod.spec.resources, container);
  const requests = container.resources?.requests ?? {};
  const cpuLimit = milliOf(limits, 'cpu');
  const shares = sharesOfMilliCpu(requests['cpu'] === undefined ? cpuLimit : milliOf(requests, 'cpu'));
  const sameQuota =
    made.cpuPeriod === 0 || made.cpuQuota < 0 || quotaOfMilliCpu(cpuLimit, made.cpuPeriod) === made.cpuQuota;
  return (
    Math.abs(made.cpuShares - shares) <= (exactly ? 0 : weightStep(shares)) &&
    sameQuota &&
    bytesOf(limits, 'memory') === made.memoryLimitBytes
  );
}

/** Returns the precision of a runtime that converts a cgroup v2 weight back to shares. */
function weightStep(shares: number): number {
  return Math.max(27, Math.ceil(shares / 100));
}

/** Returns millicores; 0 for none. */
export function milliOf(list: ResourceList | undefined, name: string): number {
  const text = list?.[name];
  return text === undefined ? 0 : quantityMilliValue(text);
}

/** Returns bytes; 0 for none. */
export function bytesOf(list: ResourceList | undefined, name: string): number {
  const text = list?.[name];
  return text === undefined ? 0 : quantityValue(text);
}
