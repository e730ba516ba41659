import type { Pod } from '../../../api/core/pod.ts';
import {
  canBeReserved,
  isClaimForPod,
  isOnlyFor,
  isReservedFor,
  podClaimName,
} from '../../../api/resource/pod-claims.ts';
import type { ContainerExtendedResourceRequest } from '../../../api/core/pod-status.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Picks } from '../devices/allocate-devices.ts';
import { allocateDevices, MAX_TRIES_OF_POD } from '../devices/allocate-devices.ts';
import type { ClaimNeeds, TryBudget } from '../devices/allocate-devices.ts';
import { computeBindingReadiness } from '../devices/binding-conditions.ts';
import { allocationOf } from '../devices/claim-allocation.ts';
import type { DevicesInUse } from '../devices/device-use.ts';
import { computeExtendedRequests, newExtendedClaim } from '../devices/extended-claim.ts';
import { isClassResource } from '../devices/extended-resources.ts';
import { needsOfClaim, SelectorFault } from '../devices/device-needs.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { compileNodeSelector } from '../framework/node-matcher.ts';
import type { NodeMatcher } from '../framework/node-matcher.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { reject, skip } from '../framework/plugin.ts';
import type { ClaimPlan, Plugin, PodCheck, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { ClusterObjects, Snapshot } from '../framework/snapshot.ts';

const NAME = 'DynamicResources';

/** The message after a pod found no node. Upstream runs this step before preemption, even for pods without claims. */
export const NOTHING_TO_DEALLOCATE = 'no new claims to deallocate';

/** The message for a pod whose claims no node can serve. */
export const STILL_NOT_SCHEDULABLE = 'still not schedulable';

/** The message for a claim that is deallocated because only this pod uses it. */
export const DEALLOCATED = 'deallocation of ResourceClaim completed';

/** The message if another plugin rejected the pod before this plugin's preFilter ran. */
export const NOT_PREPARED = 'not found';

/** The message for a leftover claim. The claim is deleted, and its deletion retries the pod. */
const LEFT_CLAIM = 'cannot schedule extended resource claim';

/** Allocates the devices of the pod's resource claims (upstream: plugins/dynamicresources). */
export const dynamicResources: Plugin = {
  name: NAME,
  hints: {
    ResourceClaim: [{ actions: ['Add', 'Update', 'Delete'] }],
    ResourceSlice: [{ actions: ['Add', 'Update', 'Delete'] }],
    DeviceClass: [{ actions: ['Add', 'Update'] }],
    Node: [{ actions: ['Add', 'UpdateNodeLabel'] }],
    Pod: [{ actions: ['Update'] }],
  },
  preEnqueue: (pod) =>
    (pod.spec.resourceClaims ?? []).some((claim) => podClaimName(pod, claim).kind === 'notCreated')
      ? unresolvable(NAME, notCreated(pod))
      : undefined,
  preFilter,
};

const notCreated = ({ metadata }: Pod): string =>
  `pod "${metadata.namespace}/${metadata.name}": ResourceClaim not created yet`;

/** Returns the pod's claims, or why the pod cannot run with them. */
function claimsOf({ pod, namespace }: PodInfo, objects: ClusterObjects): ResourceClaim[] | string {
  const claims: ResourceClaim[] = [];
  for (const podClaim of pod.spec.resourceClaims ?? []) {
    const found = podClaimName(pod, podClaim);
    if (found.kind === 'notCreated') return notCreated(pod);
    if (found.kind === 'notNeeded') continue;
    const claim = objects.resourceClaim(namespace, found.name);
    if (claim === undefined) return `resourceclaim.resource.k8s.io "${found.name}" not found`;
    if (claim.metadata.deletionTimestamp !== undefined) return `resourceclaim "${found.name}" is being deleted`;
    if (found.mustOwn && !isClaimForPod(pod, claim))
      return `ResourceClaim ${namespace}/${found.name} was not created for Pod ${namespace}/${pod.metadata.name} (Pod is not owner)`;
    if (!claims.includes(claim)) claims.push(claim);
  }
  return claims;
}

function preFilter(pod: PodInfo, { objects }: Snapshot): PreFilterResult {
  const extended = extendedResourcesOf(pod, objects);
  if ((pod.pod.spec.resourceClaims ?? []).length === 0 && extended.length === 0) return skip;
  const claims = claimsOf(pod, objects);
  if (typeof claims === 'string') return reject(unresolvable(NAME, claims));
  if (claims.length === 0 && extended.length === 0) return skip;
  if (extended.length > 0 && objects.extendedClaim(pod.uid) !== undefined)
    return reject(unresolvable(NAME, LEFT_CLAIM));
  const waiting: Waiting[] = [];
  const places: Place[] = [];
  for (const claim of claims) {
    const allocation = claim.status?.allocation;
    if (allocation !== undefined) {
      if (!isReservedFor(claim, pod.pod) && !canBeReserved(claim))
        return reject(unresolvable(NAME, 'resourceclaim in use'));
      const matches = allocation.nodeSelector === undefined ? () => true : compileNodeSelector(allocation.nodeSelector);
      places.push({ claim, matches });
      continue;
    }
    const wanted = waitingFor(claim, objects);
    if (typeof wanted === 'string') return reject(unresolvable(NAME, wanted));
    waiting.push(wanted);
  }
  return { kind: 'check', check: new DeviceCheck({ pod: pod.pod, claims, waiting, extended, places, objects }) };
}

/** An allocated claim, with the nodes that can use its devices. */
interface Place {
  readonly claim: ResourceClaim;
  readonly matches: NodeMatcher;
}

const hasFailed = (claim: ResourceClaim): boolean => computeBindingReadiness(claim).kind === 'failed';

/** A claim that is not allocated. */
interface Waiting {
  readonly claim: ResourceClaim;
  readonly needs: ClaimNeeds;
  readonly creates?: readonly ContainerExtendedResourceRequest[];
}

function waitingFor(claim: ResourceClaim, objects: ClusterObjects): Waiting | string {
  const result = needsOfClaim(claim, (className) => objects.deviceClass(className));
  if (result.kind === 'refused') return result.reason;
  return { claim, needs: { requests: result.needs, constraints: claim.spec.devices.constraints ?? [] } };
}

/** Returns the pod's extended resources that a device class can serve, on nodes without a device plugin for them. */
function extendedResourcesOf({ wanted }: PodInfo, objects: ClusterObjects): readonly string[] {
  if (wanted.scalars.size === 0) return [];
  const classes = objects.extendedResources();
  return [...wanted.scalars].flatMap(([resource, amount]) =>
    amount > 0 && isClassResource(resource) && classes.classOf(resource) !== undefined ? [resource] : [],
  );
}

interface DeviceQuestion {
  readonly pod: Pod;
  readonly claims: readonly ResourceClaim[];
  readonly waiting: readonly Waiting[];
  readonly extended: readonly string[];
  readonly places: readonly Place[];
  readonly objects: ClusterObjects;
}

class DeviceCheck implements PodCheck {
  readonly #question: DeviceQuestion;
  readonly #inUse: DevicesInUse;
  readonly #budget: TryBudget = { left: MAX_TRIES_OF_POD };
  /** The claim, or the error, by the set of resources for which the node has no device plugin. */
  readonly #extendedClaims = new Map<string, Waiting | string>();
  /** The allocated claims that at least one node cannot serve. */
  readonly #unavailable = new Set<ResourceClaim>();
  /** The claim plans by node name. */
  readonly #plans = new Map<string, ClaimPlan>();

  constructor(question: DeviceQuestion) {
    this.#question = question;
    this.#inUse = question.objects.devicesInUse();
  }

  filter(info: NodeInfo): Rejection | undefined {
    const { places, objects } = this.#question;
    const missing = places.filter(({ claim, matches }) => !matches(info.node) || hasFailed(claim));
    for (const { claim } of missing) this.#unavailable.add(claim);
    if (missing.length > 0) return unresolvable(NAME, 'resourceclaim not available on the node');
    const extended = this.#extendedOn(info);
    if (typeof extended === 'string') return unresolvable(NAME, extended);
    const waiting = extended === undefined ? this.#question.waiting : [...this.#question.waiting, extended];
    if (waiting.length === 0) return undefined;
    const needs = waiting.map((each) => each.needs);
    const picks = this.#allocate(needs, info);
    if (typeof picks === 'string') return unresolvable(NAME, picks);
    if (picks === undefined) return unresolvable(NAME, 'cannot allocate all claims');
    const plan = waiting.map(({ claim, creates }, index) => ({
      claim,
      allocation: allocationOf(claim, picks[index] ?? [], {
        nodeName: info.name,
        classOf: (each) => objects.deviceClass(each),
      }),
      ...(creates !== undefined && { creates }),
    }));
    this.#plans.set(info.name, plan);
    return undefined;
  }

  /** Allocates devices on the node. Returns a text if the devices cannot be evaluated. */
  #allocate(needs: readonly ClaimNeeds[], info: NodeInfo): Picks | string | undefined {
    const pools = this.#question.objects.devicePools().forNode(info.node);
    try {
      return allocateDevices(needs, pools, this.#inUse, this.#budget);
    } catch (error) {
      if (error instanceof SelectorFault) return error.message;
      throw error;
    }
  }

  obstacle(): { readonly claim: ResourceClaim | undefined } {
    const { pod } = this.#question;
    return { claim: [...this.#unavailable].find((claim) => isOnlyFor(claim, pod)) };
  }

  claimPlan({ name: nodeName }: NodeInfo): ClaimPlan {
    const { pod, claims } = this.#question;
    const plan = this.#plans.get(nodeName) ?? [];
    const allocated = new Set(plan.map(({ claim }) => claim));
    const others = claims.filter((claim) => !allocated.has(claim) && !isReservedFor(claim, pod));
    return [...plan, ...others.map((claim) => ({ claim, allocation: undefined }))];
  }

  /** Returns the claim for extended resources on the node, or undefined if device plugins serve all of them. */
  #extendedOn({ allocatable }: NodeInfo): Waiting | string | undefined {
    const { pod, objects, extended } = this.#question;
    const resources = extended.filter((resource) => (allocatable.scalars.get(resource) ?? 0) === 0);
    if (resources.length === 0) return undefined;
    const key = resources.join(' ');
    const known = this.#extendedClaims.get(key);
    if (known !== undefined) return known;
    const { requests, mappings } = computeExtendedRequests(pod, resources, objects.extendedResources());
    const wanted = waitingFor(newExtendedClaim(pod, requests), objects);
    const waiting = typeof wanted === 'string' ? wanted : { ...wanted, creates: mappings };
    this.#extendedClaims.set(key, waiting);
    return waiting;
  }
}
