import type { Pod } from './core/pod.ts';
import type { ResourceList } from './core/resource-requirements.ts';
import { isRestartableInit } from './pod.ts';
import { addQuantity, compareParsed, formatQuantity, parseQuantity } from './quantity.ts';
import type { Quantity } from './quantity.ts';

/**
 * The resources that a pod requests from a node (rules: component-helpers/resource/helpers.go, KEP 753 and KEP 2837).
 */
export interface PodResourceOptions {
  readonly excludeOverhead?: boolean;
  /** Ignores `spec.resources`, so that only the containers count. */
  readonly skipPodLevel?: boolean;
  /** Requests that are assumed for containers without a request for that resource. */
  readonly nonMissingRequests?: ResourceList;
  /** During a resize, also counts allocated and actual resources, not only the requested ones. */
  readonly useStatus?: boolean;
}

type Amounts = Map<string, Quantity>;
type Which = 'requests' | 'limits';

const podLevelNames = new Set(['cpu', 'memory']);

/** Whether `spec.resources` may contain this resource. */
export function isPodLevelResource(name: string): boolean {
  return podLevelNames.has(name) || isHugePageResource(name);
}

/** Whether the pod has pod-level resources (upstream: IsPodLevelResourcesSet). */
export function hasPodLevelResources({ spec }: Pod): boolean {
  const { requests = {}, limits = {} } = spec.resources ?? {};
  return [...Object.keys(requests), ...Object.keys(limits)].some(isPodLevelResource);
}

export function isHugePageResource(name: string): boolean {
  return name.startsWith('hugepages-');
}

/**
 * Whether the resource has a domain outside of Kubernetes, such as `example.com/gpu` (core/helper
 * IsExtendedResourceName).
 */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** The requests of the pod, including its overhead unless `options` excludes it. */
export function podRequests(pod: Pod, options: PodResourceOptions = {}): ResourceList {
  const total = aggregate(pod, 'requests', options);
  if (options.skipPodLevel !== true) overridePodLevel(total, pod, 'requests', options);
  if (options.excludeOverhead !== true) addAll(total, parseList(pod.spec.overhead));
  return formatList(total);
}

/** The limits of the pod. Overhead is added only to resources with a limit. */
export function podLimits(pod: Pod, options: PodResourceOptions = {}): ResourceList {
  const total = aggregate(pod, 'limits', options);
  if (options.skipPodLevel !== true) overridePodLevel(total, pod, 'limits', options);
  if (options.excludeOverhead !== true) {
    for (const [name, amount] of parseList(pod.spec.overhead)) {
      const limit = total.get(name);
      if (limit !== undefined && limit.nanos !== 0n) total.set(name, addQuantity(limit, amount));
    }
  }
  return formatList(total);
}

/**
 * The sum of the containers. An init container needs its own resources and those of the sidecars before it; the pod
 * needs the maximum of that and of what its regular containers and sidecars need.
 */
export function aggregateContainers(pod: Pod, which: Which, options: PodResourceOptions = {}): ResourceList {
  return formatList(aggregate(pod, which, options));
}

function aggregate(pod: Pod, which: Which, options: PodResourceOptions): Amounts {
  const total: Amounts = new Map();
  for (const container of pod.spec.containers) addAll(total, amountsOf(pod, container, which, options));
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    // An init container's resources count only while it may run again.
    const own = amountsOf(
      pod,
      container,
      which,
      isRestartableInit(container) ? options : { ...options, useStatus: false },
    );
    if (isRestartableInit(container)) {
      addAll(total, own);
      addAll(sidecars, own);
      raiseTo(peak, sidecars);
    } else {
      addAll(own, sidecars);
      raiseTo(peak, own);
    }
  }
  raiseTo(total, peak);
  return total;
}

function amountsOf(
  pod: Pod,
  container: Pod['spec']['containers'][number],
  which: Which,
  options: PodResourceOptions,
): Amounts {
  const own = parseList(container.resources?.[which]);
  if (options.useStatus === true) raiseToStatus(own, pod, container.name, which);
  if (which === 'requests') {
    for (const [name, amount] of parseList(options.nonMissingRequests)) if (!own.has(name)) own.set(name, amount);
  }
  return own;
}

function raiseToStatus(own: Amounts, pod: Pod, containerName: string, which: Which): void {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const status = statuses.find((candidate) => candidate.name === containerName);
  if (status?.resources === undefined) return;
  mergeActual(
    own,
    pod,
    parseList(status.resources[which]),
    which === 'requests' ? parseList(status.allocatedResources) : new Map(),
  );
}

/** While a resize is infeasible, the requested resources are ignored. */
function mergeActual(own: Amounts, pod: Pod, actual: Amounts, allocated: Amounts): void {
  if (isResizeInfeasible(pod)) own.clear();
  raiseTo(own, actual);
  raiseTo(own, allocated);
}

function isResizeInfeasible(pod: Pod): boolean {
  return pod.status?.conditions?.find((condition) => condition.type === 'PodResizePending')?.reason === 'Infeasible';
}

function overridePodLevel(total: Amounts, pod: Pod, which: Which, options: PodResourceOptions): void {
  const asked = parseList(pod.spec.resources?.[which]);
  for (const name of [...asked.keys()]) if (!isPodLevelResource(name)) asked.delete(name);
  if (asked.size === 0) return;
  const effective = new Map(asked);
  const status = pod.status?.resources;
  if (options.useStatus === true && status !== undefined) {
    mergeActual(
      effective,
      pod,
      parseList(status[which]),
      which === 'requests' ? parseList(pod.status?.allocatedResources) : new Map(),
    );
  }
  for (const [name, amount] of asked) total.set(name, effective.get(name) ?? amount);
}

function addAll(total: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const before = total.get(name);
    total.set(name, before === undefined ? amount : addQuantity(before, amount));
  }
}

function raiseTo(total: Amounts, other: Amounts): void {
  for (const [name, amount] of other) {
    const before = total.get(name);
    if (before === undefined || compareParsed(amount, before) > 0) total.set(name, amount);
  }
}

function parseList(list: ResourceList | undefined): Amounts {
  const parsed: Amounts = new Map();
  if (list !== undefined) for (const name of Object.keys(list)) parsed.set(name, parseQuantity(list[name] ?? '0'));
  return parsed;
}

function formatList(amounts: Amounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
}
