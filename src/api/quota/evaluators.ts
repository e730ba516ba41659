import { lookupTable } from '../../base/lookup.ts';
import type { ApiObject } from '../client/resource-type.ts';
import { persistentVolumeClaims, pods, resourceClaims, services } from '../client/resource-types.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { Pod } from '../core/pod.ts';
import type { ScopedResourceSelectorRequirement } from '../core/resource-quota.ts';
import type { Service } from '../core/service.ts';
import { compareParsed, parseQuantity, quantityOf, quantityValue } from '../quantity.ts';
import type { Quantity } from '../quantity.ts';
import type { ResourceClaim } from '../resource/resource-claim.ts';
import { matchesRequirement } from '../label-requirement.ts';
import { formatGroupResource } from '../status/api-status-error.ts';
import type { GroupResource } from '../status/api-status-error.ts';
import { itemsOf, noItem, oneItem } from './amounts.ts';
import type { Amounts } from './amounts.ts';
import { isCharged, isCountedOfPods, hasDeadline, missingOfPod, podIsInScope, podUsage } from './pod-usage.ts';
import { isCountedOfResourceClaims, resourceClaimUsage } from './resource-claim-usage.ts';

/** How objects of a kind use quotas (upstream: quota.Evaluator). It is only called with objects of its kind. */
export interface QuotaEvaluator {
  /** Whether a quota's resource of this name counts objects of the kind. */
  counts(name: string): boolean;
  usage(object: ApiObject, nowMs: number): Amounts;
  isInScope(object: ApiObject, requirement: ScopedResourceSelectorRequirement): boolean;
  /** The error for an object that does not set a resource that the quota limits; undefined if it sets all. */
  missing(bounded: readonly string[], object: ApiObject): string | undefined;
  /** Whether an update can increase the usage. */
  mayGrow(subresource: string, old: ApiObject, object: ApiObject): boolean;
  /** Whether an update may have reduced the usage. */
  mayShrink(old: ApiObject, object: ApiObject, nowMs: number): boolean;
}

const anything = {
  isInScope: () => false,
  missing: () => undefined,
  mayGrow: () => false,
  mayShrink: () => false,
} as const;

const podEvaluator: QuotaEvaluator = {
  counts: isCountedOfPods,
  usage: (object, nowMs) => podUsage(object as Pod, nowMs),
  isInScope: (object, requirement) => podIsInScope(object as Pod, requirement),
  missing: (bounded, object) => missingOfPod(bounded, object as Pod),
  mayGrow: (subresource, old, object) =>
    subresource === 'resize' || (subresource === '' && hasDeadline(old as Pod) !== hasDeadline(object as Pod)),
  mayShrink: (old, object, nowMs) => {
    const [before, after] = [old as Pod, object as Pod];
    return (
      isCharged(before, nowMs) !== isCharged(after, nowMs) ||
      hasDeadline(before) !== hasDeadline(after) ||
      resourcesOf(before) !== resourcesOf(after)
    );
  },
};

/** The resources of the pod's containers, as text for comparisons. */
function resourcesOf({ spec, status }: Pod): string {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return JSON.stringify([
    spec.resources,
    spec.containers.map(({ resources }) => resources),
    statuses.map(({ resources, allocatedResources }) => [resources, allocatedResources]),
    status?.resources,
  ]);
}

const serviceCounts = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers']);

const serviceEvaluator: QuotaEvaluator = {
  ...anything,
  counts: (name) => serviceCounts.has(name),
  usage: (object) => {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as Service).spec;
    const asked =
      type === 'LoadBalancer' && allocateLoadBalancerNodePorts === false
        ? ports.filter(({ nodePort = 0 }) => nodePort !== 0)
        : ports;
    const hasNodePorts = type === 'NodePort' || type === 'LoadBalancer';
    return new Map([
      ['count/services', oneItem],
      ['services', oneItem],
      ['services.loadbalancers', type === 'LoadBalancer' ? oneItem : noItem],
      ['services.nodeports', itemsOf(hasNodePorts ? asked.length : 0)],
    ]);
  },
  mayGrow: (subresource) => subresource === '',
  mayShrink: (old, object) =>
    (old as Service).spec.type !== (object as Service).spec.type ||
    (old as Service).spec.ports?.length !== (object as Service).spec.ports?.length,
};

const BY_CLASS = '.storageclass.storage.k8s.io/';
const claimCounts = ['persistentvolumeclaims', 'requests.storage'];

const claimEvaluator: QuotaEvaluator = {
  ...anything,
  counts: (name) =>
    name === 'count/persistentvolumeclaims' ||
    claimCounts.some((each) => name === each || name.endsWith(BY_CLASS + each)),
  usage: (object) => {
    const claim = object as PersistentVolumeClaim;
    const usage = new Map<string, Quantity>([
      ['persistentvolumeclaims', oneItem],
      ['count/persistentvolumeclaims', oneItem],
    ]);
    const className =
      claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec.storageClassName ?? '';
    if (className !== '') usage.set(`${className}${BY_CLASS}persistentvolumeclaims`, oneItem);
    const storage = storageOf(claim);
    if (storage === undefined) return usage;
    usage.set('requests.storage', storage);
    if (className !== '') usage.set(`${className}${BY_CLASS}requests.storage`, storage);
    return usage;
  },
  isInScope: (object, requirement) => claimIsInScope(object as PersistentVolumeClaim, requirement),
  mayGrow: (subresource, old, object) =>
    subresource === '' ||
    (subresource === 'status' && isReplenishing(old as PersistentVolumeClaim, object as PersistentVolumeClaim)),
  mayShrink: (old, object) => isReplenishing(old as PersistentVolumeClaim, object as PersistentVolumeClaim),
};

/**
 * The storage that the claim requests. After a failed expansion the request may be lower than the allocated storage,
 * which counts then.
 */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const asked = spec.resources?.requests?.['storage'];
  if (asked === undefined) return undefined;
  const [wanted, given] = [wholeOf(asked), wholeOf(status?.allocatedResources?.['storage'] ?? '0')];
  return compareParsed(given, wanted) > 0 ? given : wanted;
}

/** Whole bytes; fractions do not count. */
function wholeOf(text: string): Quantity {
  const parsed = parseQuantity(text);
  return parsed.nanos % 1_000_000_000n === 0n ? parsed : parseQuantity(quantityOf(quantityValue(text), parsed.format));
}

function attributesClasses({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ''))].sort() as string[];
}

function isReplenishing(old: PersistentVolumeClaim, claim: PersistentVolumeClaim): boolean {
  const facts = (each: PersistentVolumeClaim): string =>
    JSON.stringify([each.spec.resources?.requests, each.status?.allocatedResources, attributesClasses(each)]);
  return facts(old) !== facts(claim);
}

function claimIsInScope(
  claim: PersistentVolumeClaim,
  { scopeName, operator, values = [] }: ScopedResourceSelectorRequirement,
): boolean {
  if (scopeName !== 'VolumeAttributesClass') return false;
  const names = attributesClasses(claim);
  const has = names.map((name) => matchesRequirement({ key: scopeName, operator, values }, { [scopeName]: name }));
  return names.length === 0 ? matchesRequirement({ key: scopeName, operator, values }, {}) : has.includes(true);
}

/** The spec never changes. */
const resourceClaimEvaluator: QuotaEvaluator = {
  ...anything,
  counts: isCountedOfResourceClaims,
  usage: (object) => resourceClaimUsage(object as ResourceClaim),
};

/** Names of quota resources from before `count/` existed. */
const oldNames: Readonly<Record<string, string>> = lookupTable({
  configmaps: 'configmaps',
  resourcequotas: 'resourcequotas',
  replicationcontrollers: 'replicationcontrollers',
  secrets: 'secrets',
});

function countEvaluator(type: GroupResource): QuotaEvaluator {
  const names = [
    `count/${formatGroupResource(type)}`,
    ...(type.group === '' && oldNames[type.plural] !== undefined ? [type.plural] : []),
  ];
  const usage = new Map(names.map((name) => [name, oneItem]));
  return { ...anything, counts: (name) => names.includes(name), usage: () => usage };
}

/** Kinds that quotas never count, because they are not stored, or not for long. */
const ignored = new Set([
  'bindings',
  'componentstatuses',
  'events',
  'events.events.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
]);

const evaluators = new Map<string, QuotaEvaluator | undefined>([
  [formatGroupResource(pods), podEvaluator],
  [formatGroupResource(services), serviceEvaluator],
  [formatGroupResource(persistentVolumeClaims), claimEvaluator],
  [formatGroupResource(resourceClaims), resourceClaimEvaluator],
  ...[...ignored].map((name) => [name, undefined] as const),
]);
const byType = new WeakMap<GroupResource, { readonly evaluator: QuotaEvaluator | undefined }>();

/** The evaluator of a kind; undefined for kinds that never count. */
export function evaluatorOf(type: GroupResource): QuotaEvaluator | undefined {
  let known = byType.get(type);
  if (known === undefined) {
    const name = formatGroupResource(type);
    known = { evaluator: evaluators.has(name) ? evaluators.get(name) : countEvaluator(type) };
    byType.set(type, known);
  }
  return known.evaluator;
}
