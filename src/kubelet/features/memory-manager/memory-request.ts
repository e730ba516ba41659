import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { hasPodLevelResources, isHugePageResource } from '../../../api/resources.ts';
import { isGuaranteedAlone } from '../../model/guaranteed-container.ts';
import type { MemoryRequest } from './memory-hints.ts';

/** The gate PodLevelResourceManagers, with which pods with pod-level resources get memory. */
export interface RequestRules {
  readonly podLevel: boolean;
}

/**
 * Returns what the container may reserve: the memory and huge pages of a Guaranteed pod (upstream:
 * getContainerRequestedResources).
 */
export function memoryRequest(
  { podLevel }: RequestRules,
  pod: Pod,
  container: Pick<Container, 'resources'>,
): MemoryRequest {
  if (podQos(pod) !== 'Guaranteed') return new Map();
  if (hasPodLevelResources(pod) && !(podLevel && isGuaranteedAlone(container))) return new Map();
  return amountsOf(container.resources?.requests);
}

/** Returns the largest amount that the pod uses at one time, by resource (upstream: getPodRequestedResources). */
export function podMemoryRequest(rules: RequestRules, pod: Pod): MemoryRequest {
  if (rules.podLevel && hasPodLevelResources(pod)) {
    const own = podQos(pod) === 'Guaranteed' ? amountsOf(pod.spec.resources?.requests) : new Map<string, number>();
    return new Map([...own].filter(([, bytes]) => bytes > 0));
  }
  const sidecars = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    for (const [resource, bytes] of memoryRequest(rules, pod, container)) {
      const sum = (sidecars.get(resource) ?? 0) + bytes;
      if (isRestartableInit(container)) sidecars.set(resource, sum);
      most.set(resource, Math.max(most.get(resource) ?? 0, sum));
    }
  }
  const running = new Map(sidecars);
  for (const container of pod.spec.containers)
    for (const [resource, bytes] of memoryRequest(rules, pod, container))
      running.set(resource, (running.get(resource) ?? 0) + bytes);
  for (const [resource, bytes] of running) most.set(resource, Math.max(most.get(resource) ?? 0, bytes));
  return most;
}

function amountsOf(requests: Readonly<Record<string, string>> = {}): Map<string, number> {
  const amounts = Object.entries(requests).filter(
    ([resource]) => resource === 'memory' || isHugePageResource(resource),
  );
  return new Map(amounts.map(([resource, amount]) => [resource, quantityValue(amount)]));
}
