import { ownValue } from '../base/lookup.ts';
import type { Container } from './core/container.ts';
import type { Pod } from './core/pod.ts';
import type { ResourceList, ResourceRequirements } from './core/resource-requirements.ts';
import type { AnyContainer } from './pod.ts';
import { compareQuantities } from './quantity.ts';

/** The resources of one pod that the node has allocated or applied, which may differ from its spec. */
export interface PodAllocation {
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  readonly pod?: ResourceRequirements;
}

/** The resources in the spec. Ephemeral containers have none. */
export function allocationOf(pod: Pod): PodAllocation {
  const containers = Object.fromEntries(resizable(pod).map((container) => [container.name, container.resources ?? {}]));
  return pod.spec.resources === undefined ? { containers } : { containers, pod: pod.spec.resources };
}

/**
 * The pod with its allocated resources (upstream: UpdatePodFromAllocation). Returns the same object if they equal the
 * spec's.
 */
export function withAllocation(pod: Pod, allocation: PodAllocation): Pod {
  const { spec } = pod;
  const apply = (containers: readonly Container[] | undefined): Container[] | undefined =>
    containers?.map((container) => {
      const allocated = ownValue(allocation.containers, container.name);
      return allocated === undefined || sameRequirements(allocated, container.resources)
        ? container
        : { ...container, resources: allocated };
    });
  const containers = apply(spec.containers) ?? [];
  const initContainers = apply(spec.initContainers);
  const same =
    sameRequirements(allocation.pod, spec.resources) &&
    containers.every((one, index) => one === spec.containers[index]) &&
    (initContainers ?? []).every((one, index) => one === spec.initContainers?.[index]);
  if (same) return pod;
  const { resources, ...rest } = spec;
  const podLevel = sameRequirements(allocation.pod, resources) ? resources : allocation.pod;
  return {
    ...pod,
    spec: {
      ...rest,
      ...(initContainers === undefined ? {} : { initContainers }),
      containers,
      ...(podLevel === undefined ? {} : { resources: podLevel }),
    },
  };
}

/** The resizable containers, init containers first, as in a spec. */
export function resizable(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

/**
 * Whether amounts are equal, whatever their notation. Resource claims are not compared, because they cannot be resized.
 */
export function sameRequirements(
  left: ResourceRequirements | undefined,
  right: ResourceRequirements | undefined,
): boolean {
  return sameList(left?.requests, right?.requests) && sameList(left?.limits, right?.limits);
}

function sameList(left: ResourceList = {}, right: ResourceList = {}): boolean {
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameAmount(left[name] ?? '0', right[name] ?? '0'))
  );
}

function sameAmount(left: string, right: string): boolean {
  return left === right || compareQuantities(left, right) === 0;
}

/**
 * The limits that apply to a container. Without a CPU or memory limit of its own, the pod's limit applies (upstream:
 * kubelet/util GetLimits).
 */
export function effectiveLimits(
  podResources: ResourceRequirements | undefined,
  container: Pick<AnyContainer, 'resources'>,
): ResourceList {
  const limits = { ...container.resources?.limits };
  for (const name of ['cpu', 'memory'] as const) {
    const podLimit = podResources?.limits?.[name];
    if (
      podLimit !== undefined &&
      compareQuantities(podLimit, '0') > 0 &&
      compareQuantities(limits[name] ?? '0', '0') === 0
    )
      limits[name] = podLimit;
  }
  return limits;
}
