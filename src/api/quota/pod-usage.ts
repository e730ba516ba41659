import type { Container } from '../core/container.ts';
import { isTerminalPhase } from '../pod.ts';
import type { Pod } from '../core/pod.ts';
import type { ScopedResourceSelectorRequirement } from '../core/resource-quota.ts';
import type { ResourceList } from '../core/resource-requirements.ts';
import { parseQuantity } from '../quantity.ts';
import type { Quantity } from '../quantity.ts';
import { computePodQos } from '../qos.ts';
import { isPodLevelResource, podLimits, podRequests } from '../resources.ts';
import { matchesRequirement } from '../label-requirement.ts';
import type { Amounts } from './amounts.ts';
import { oneItem } from './amounts.ts';

/** What quotas count of pods (upstream: pkg/quota/v1/evaluator/core/pods.go). */
const POD_COUNT = 'count/pods';
const named = new Set([
  POD_COUNT,
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
]);
const HUGE_PAGES = 'hugepages-';
const REQUESTS_PREFIX = 'requests.';
/** Resources that every container must set when a quota limits them. */
const mustBeGiven = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory'];

const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
const isExtended = (name: string): boolean => !isNative(name) && !name.startsWith(REQUESTS_PREFIX);

export function isCountedOfPods(name: string): boolean {
  if (named.has(name) || name.startsWith(HUGE_PAGES) || name.startsWith(REQUESTS_PREFIX + HUGE_PAGES)) return true;
  return (
    name.startsWith(REQUESTS_PREFIX) &&
    (!isNative(name) || name.startsWith(`${REQUESTS_PREFIX}deviceclass.resource.kubernetes.io/`))
  );
}

/** A pod that has ended only counts as an object. */
export function podUsage(pod: Pod, nowMs: number): Amounts {
  const usage = new Map<string, Quantity>([[POD_COUNT, oneItem]]);
  if (!isCharged(pod, nowMs)) return usage;
  const options = { useStatus: true };
  for (const [name, amount] of usageOf(podRequests(pod, options), podLimits(pod, options))) usage.set(name, amount);
  return usage;
}

/** Whether the pod's requests count: not after it has ended, and not when its deletion is overdue. */
export function isCharged({ metadata, status }: Pod, nowMs: number): boolean {
  if (isTerminalPhase(status?.phase)) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function usageOf(requests: ResourceList | undefined, limits: ResourceList | undefined): Map<string, Quantity> {
  const usage = new Map<string, Quantity>([['pods', oneItem]]);
  for (const [name, text] of Object.entries(requests ?? {})) {
    const isBasic = name === 'cpu' || name === 'memory' || name === 'ephemeral-storage';
    if (!isBasic && !name.startsWith(HUGE_PAGES) && !isExtended(name)) continue;
    const amount = parseQuantity(text);
    if (!isExtended(name)) usage.set(name, amount);
    usage.set(REQUESTS_PREFIX + name, amount);
  }
  for (const name of ['cpu', 'memory', 'ephemeral-storage']) {
    const text = limits?.[name];
    if (text !== undefined) usage.set(`limits.${name}`, parseQuantity(text));
  }
  return usage;
}

/**
 * The names of resources that a quota limits and the containers do not set, in upstream's format; undefined if all are
 * set.
 */
export function missingOfPod(bounded: readonly string[], { spec }: Pod): string | undefined {
  const { resources, containers, initContainers = [] } = spec;
  if ([...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})].some(isPodLevelResource))
    return undefined;
  const required = mustBeGiven.filter((name) => bounded.includes(name));
  const lacking = required
    .map((name) => ({ name, of: containersWithout(name, [...containers, ...initContainers]) }))
    .filter(({ of }) => of.length > 0);
  return lacking.length === 0
    ? undefined
    : `must specify ${lacking.map(({ name, of }) => `${name} for: ${of.join(',')}`).join('; ')}`;
}

function containersWithout(name: string, containers: readonly Container[]): readonly string[] {
  const lacking = containers.filter(({ resources }) => !usageOf(resources?.requests, resources?.limits).has(name));
  return [...new Set(lacking.map((container) => container.name))].sort();
}

export const hasDeadline = ({ spec }: Pod): boolean =>
  spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;

export function podIsInScope(
  pod: Pod,
  { scopeName, operator, values = [] }: ScopedResourceSelectorRequirement,
): boolean {
  switch (scopeName) {
    case 'Terminating':
      return hasDeadline(pod);
    case 'NotTerminating':
      return !hasDeadline(pod);
    case 'BestEffort':
      return computePodQos(pod) === 'BestEffort';
    case 'NotBestEffort':
      return computePodQos(pod) !== 'BestEffort';
    case 'PriorityClass': {
      const { priorityClassName = '' } = pod.spec;
      return matchesRequirement(
        { key: scopeName, operator, values },
        priorityClassName === '' ? {} : { [scopeName]: priorityClassName },
      );
    }
    case 'CrossNamespacePodAffinity':
      return reachesOtherNamespaces(pod);
    case 'VolumeAttributesClass':
      return false;
  }
}

function reachesOtherNamespaces({ spec }: Pod): boolean {
  const kinds = [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity];
  const terms = kinds.flatMap((kind) => [
    ...(kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}
