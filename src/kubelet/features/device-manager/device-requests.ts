import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { isExtendedResource } from '../../../api/resources.ts';

/** A container's request for an extended resource. */
export interface DeviceRequest {
  readonly resource: string;
  readonly count: number;
}

/**
 * Returns the requests of a container, sorted by name. Limits and requests of extended resources are equal. Zero
 * amounts are left out.
 */
export function deviceRequests(container: Pick<Container, 'resources'>): DeviceRequest[] {
  return Object.entries(container.resources?.limits ?? {})
    .filter(([resource]) => isExtendedResource(resource))
    .map(([resource, amount]) => ({ resource, count: quantityValue(amount) }))
    .filter(({ count }) => count > 0)
    .sort((left, right) => (left.resource < right.resource ? -1 : 1));
}

/** A container in the order of allocation. Init containers come first, and later containers reuse their devices. */
export interface AllocatingContainer {
  readonly container: Container;
  /** Whether the container ends before the others start, so that they can use its devices. */
  readonly leavesDevices: boolean;
}

export function allocatingContainers(pod: Pod): AllocatingContainer[] {
  return [
    ...(pod.spec.initContainers ?? []).map((container) => ({
      container,
      leavesDevices: !isRestartableInit(container),
    })),
    ...pod.spec.containers.map((container) => ({ container, leavesDevices: false })),
  ];
}

/** Whether DRA, and not a device plugin, provides the resource to the container (upstream: isDRAExtendedResource). */
export function isClaimedResource(pod: Pod, container: string, resource: string): boolean {
  const { requestMappings = [] } = pod.status?.extendedResourceClaimStatus ?? {};
  return requestMappings.some((mapping) => mapping.containerName === container && mapping.resourceName === resource);
}

/** Devices of earlier containers of the pod that later ones can reuse, by resource. */
export type Reusable = Map<string, Set<string>>;

export function noteReusable(
  reusable: Reusable,
  { resource, ids, leavesDevices }: { resource: string; ids: readonly string[]; leavesDevices: boolean },
): void {
  const known = reusable.get(resource) ?? new Set<string>();
  for (const id of ids) {
    if (leavesDevices) known.add(id);
    else known.delete(id);
  }
  reusable.set(resource, known);
}
