import type { Pod } from './core/pod.ts';
import type { PodQOSClass } from './core/pod-status.ts';
import type { ResourceRequirements } from './core/resource-requirements.ts';
import { addQuantity, parseQuantity } from './quantity.ts';
import type { Quantity } from './quantity.ts';

const qosResources = ['cpu', 'memory'] as const;
type Sums = Map<string, Quantity>;

/** The class in the status, otherwise the computed class. */
export function podQos(pod: Pod): PodQOSClass {
  return pod.status?.qosClass || computePodQos(pod);
}

/**
 * BestEffort: no container requests CPU or memory. Guaranteed: every container has limits for both, and requests equal
 * to the limits. Burstable: all others. Pod-level resources replace those of the containers (upstream:
 * core/v1/helper/qos).
 */
export function computePodQos(pod: Pod): PodQOSClass {
  const parties: (ResourceRequirements | undefined)[] =
    pod.spec.resources !== undefined
      ? [pod.spec.resources]
      : [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((container) => container.resources);
  const requests: Sums = new Map();
  const limits: Sums = new Map();
  let everyoneLimitsBoth = true;
  for (const party of parties) {
    addPositive(requests, party?.requests);
    const limited = addPositive(limits, party?.limits);
    // Upstream looks at the limits of a pod-level block only if it has any.
    const counts = pod.spec.resources === undefined || Object.keys(party?.limits ?? {}).length > 0;
    if (counts && limited < qosResources.length) everyoneLimitsBoth = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const same =
    requests.size === limits.size && [...requests].every(([name, amount]) => limits.get(name)?.nanos === amount.nanos);
  return everyoneLimitsBoth && same ? 'Guaranteed' : 'Burstable';
}

function addPositive(sums: Sums, list: Readonly<Record<string, string>> | undefined): number {
  let found = 0;
  for (const name of qosResources) {
    const text = list?.[name];
    if (text === undefined) continue;
    const amount = parseQuantity(text);
    if (amount.nanos <= 0n) continue;
    found++;
    const before = sums.get(name);
    sums.set(name, before === undefined ? amount : addQuantity(before, amount));
  }
  return found;
}
