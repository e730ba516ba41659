import { ownValue } from '../../../base/lookup.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';

/** A resource of which the node has too little, in millicores, bytes or pieces. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

const basic = ['cpu', 'memory', 'ephemeral-storage'] as const;

/**
 * Returns the resources that the pod requests and the node does not have beside the other pods, in upstream's order
 * (scheduler noderesources/fit.go): pods, CPU, memory, storage, then the others by name.
 */
export function computeShortages(pod: Pod, others: readonly Pod[], allocatable: ResourceList): Shortage[] {
  const shortages: Shortage[] = [];
  const maxPods = amountIn(allocatable, 'pods');
  if (others.length + 1 > maxPods)
    shortages.push({ resource: 'pods', requested: 1, used: others.length, capacity: maxPods });
  const requests = podRequests(pod);
  let ofOthers: readonly ResourceList[] | undefined;
  const counted = Object.keys(requests)
    .filter((resource) => isCounted(resource, allocatable))
    .sort();
  for (const resource of [...basic, ...counted.filter((name) => !isBasic(name))]) {
    const requested = amountIn(requests, resource);
    if (requested <= 0) continue;
    ofOthers ??= others.map((other) => podRequests(other));
    const used = ofOthers.reduce((sum, list) => sum + amountIn(list, resource), 0);
    const capacity = amountIn(allocatable, resource);
    if (requested > capacity - used) shortages.push({ resource, requested, used, capacity });
  }
  return shortages;
}

/** Returns how much of a resource the pod requests (upstream: GetResourceRequest). */
export function requestedOf(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : amountIn(podRequests(pod), resource);
}

function amountIn(list: ResourceList, resource: string): number {
  const text = ownValue(list, resource);
  if (text === undefined) return 0;
  return resource === 'cpu' ? quantityMilliValue(text) : quantityValue(text);
}

const isBasic = (resource: string): boolean => (basic as readonly string[]).includes(resource);

/**
 * Whether the resource counts on this node. Cluster-level resources do not (upstream: removeMissingExtendedResources),
 * but huge pages and the node's devices do.
 */
function isCounted(resource: string, allocatable: ResourceList): boolean {
  return isBasic(resource) || resource.startsWith('hugepages-') || Object.hasOwn(allocatable, resource);
}

/** Builds the message of a shortage (upstream: lifecycle/predicate.go InsufficientResourceError). */
export function shortageMessage({ resource, requested, used, capacity }: Shortage): string {
  return `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
}
