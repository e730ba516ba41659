import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { noCpus } from '../../model/cpu-set.ts';
import type { AllocationProblem } from '../../model/topology-hints.ts';
import { unexpectedProblem } from '../../model/topology-hints.ts';
import type { StaticPolicy } from './static-policy.ts';
import { exclusiveCpuCount, podCpuCount, selectCpus } from './static-policy.ts';

/** The CPUs of one container of a pod that has its own pool. */
export interface PoolShare {
  readonly cpus: CpuSet;
  /** Whether no other container that runs at the same time has these CPUs. */
  readonly isExclusive: boolean;
}

/**
 * Returns why the pool of the pod cannot be divided: its exclusive containers leave no CPU for the others (upstream:
 * validatePodScopeResources).
 */
export function emptyPoolProblem(policy: StaticPolicy, pod: Pod): AllocationProblem | undefined {
  const total = podCpuCount(policy, pod);
  const refused = (message: string): AllocationProblem => ({ reason: podReasons.emptyPodSharedPoolError, message });
  let longRunning = 0;
  let hasShared = false;
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCpuCount(policy, pod, container);
    if (isRestartableInit(container)) {
      longRunning += count;
      hasShared ||= count === 0;
    } else if (count === 0 && longRunning >= total)
      return refused('pod rejected, pod has shared init containers but no cpus available for them');
  }
  for (const container of pod.spec.containers) {
    const count = exclusiveCpuCount(policy, pod, container);
    longRunning += count;
    hasShared ||= count === 0;
  }
  return hasShared && longRunning >= total
    ? refused(
        'pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
      )
    : undefined;
}

/**
 * Divides the pool of a pod among its containers (upstream: policy_static.go AllocatePod). Init containers use what the
 * sidecars before them leave. Containers and sidecars without exclusive CPUs share the rest, so such a sidecar uses the
 * CPUs of an init container while that runs.
 */
export function dividePool(
  policy: StaticPolicy,
  pod: Pod,
  pool: CpuSet,
): ReadonlyMap<string, PoolShare> | AllocationProblem {
  const shares = new Map<string, PoolShare>();
  const inits = pod.spec.initContainers ?? [];
  let sidecars: CpuSet = noCpus;
  for (const container of inits) {
    const [free, count] = [pool.difference(sidecars), exclusiveCpuCount(policy, pod, container)];
    if (count === 0) {
      if (!isRestartableInit(container)) shares.set(container.name, { cpus: free, isExclusive: false });
      continue;
    }
    const cpus = selectCpus(policy, free, count);
    if (cpus === undefined) return tooFew(count, free);
    shares.set(container.name, { cpus, isExclusive: true });
    if (isRestartableInit(container)) sidecars = sidecars.union(cpus);
  }
  let rest = pool.difference(sidecars);
  for (const container of pod.spec.containers) {
    const count = exclusiveCpuCount(policy, pod, container);
    if (count === 0) continue;
    const cpus = selectCpus(policy, rest, count);
    if (cpus === undefined) return tooFew(count, rest);
    shares.set(container.name, { cpus, isExclusive: true });
    rest = rest.difference(cpus);
  }
  for (const { name } of [...inits, ...pod.spec.containers])
    if (!shares.has(name)) shares.set(name, { cpus: rest, isExclusive: false });
  return shares;
}

function tooFew(count: number, free: CpuSet): AllocationProblem {
  return unexpectedProblem(`not enough cpus available to satisfy request: requested=${count}, available=${free.size}`);
}
