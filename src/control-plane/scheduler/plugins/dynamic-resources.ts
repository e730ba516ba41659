import type { Pod } from '../../../api/core/pod.ts';
import { canBeReserved, isClaimForPod, isReservedFor, podClaimName } from '../../../api/resource/pod-claims.ts';
import type { AllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { allocateDevices, MAX_TRIES_OF_POD } from '../devices/allocate-devices.ts';
import type { ClaimNeeds, TryBudget } from '../devices/allocate-devices.ts';
import { allocationOf } from '../devices/claim-allocation.ts';
import type { DevicesInUse } from '../devices/device-use.ts';
import { needsOfClaim } from '../devices/device-needs.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { compileNodeSelector } from '../framework/node-matcher.ts';
import type { NodeMatcher } from '../framework/node-matcher.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { reject, skip } from '../framework/plugin.ts';
import type { ClaimPlan, Plugin, PodCheck, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { ClusterObjects, Snapshot } from '../framework/snapshot.ts';

const name = 'DynamicResources';

/** What it says after a pod found no node; upstream asks it before preemption, whether the pod has claims or not. */
export const nothingToDeallocate = 'no new claims to deallocate';

/** What it says instead when another plugin had rejected the pod before it was asked. */
export const notPrepared = 'not found';

/** Pods get the devices that their resource claims ask for (upstream: plugins/dynamicresources). */
export const dynamicResources: Plugin = {
  name,
  hints: {
    ResourceClaim: [{ actions: ['Add', 'Update', 'Delete'] }],
    ResourceSlice: [{ actions: ['Add', 'Update', 'Delete'] }],
    DeviceClass: [{ actions: ['Add', 'Update'] }],
    Node: [{ actions: ['Add', 'UpdateNodeLabel'] }],
    Pod: [{ actions: ['Update'] }],
  },
  preEnqueue: (pod) =>
    (pod.spec.resourceClaims ?? []).some((claim) => podClaimName(pod, claim).kind === 'notCreated')
      ? unresolvable(name, notCreated(pod))
      : undefined,
  preFilter,
};

const notCreated = ({ metadata }: Pod): string =>
  `pod "${metadata.namespace}/${metadata.name}": ResourceClaim not created yet`;

/** The pod's claims, or why it cannot run with them. */
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
  if ((pod.pod.spec.resourceClaims ?? []).length === 0) return skip;
  const claims = claimsOf(pod, objects);
  if (typeof claims === 'string') return reject(unresolvable(name, claims));
  if (claims.length === 0) return skip;
  const needs: ClaimNeeds[] = [];
  const waiting: ResourceClaim[] = [];
  const places: NodeMatcher[] = [];
  for (const claim of claims) {
    const allocation = claim.status?.allocation;
    if (allocation !== undefined) {
      if (!isReservedFor(claim, pod.pod) && !canBeReserved(claim))
        return reject(unresolvable(name, 'resourceclaim in use'));
      if (allocation.nodeSelector !== undefined) places.push(compileNodeSelector(allocation.nodeSelector));
      continue;
    }
    const result = needsOfClaim(claim, (className) => objects.deviceClass(className));
    if (result.kind === 'refused') return reject(unresolvable(name, result.reason));
    needs.push({ requests: result.needs, constraints: claim.spec.devices.constraints ?? [] });
    waiting.push(claim);
  }
  return { kind: 'check', check: new DeviceCheck({ pod: pod.pod, claims, waiting, needs, places, objects }) };
}

interface DeviceQuestion {
  readonly pod: Pod;
  readonly claims: readonly ResourceClaim[];
  /** Those that are not allocated, and what each needs. */
  readonly waiting: readonly ResourceClaim[];
  readonly needs: readonly ClaimNeeds[];
  /** Where the allocated ones are available. */
  readonly places: readonly NodeMatcher[];
  readonly objects: ClusterObjects;
}

class DeviceCheck implements PodCheck {
  readonly #question: DeviceQuestion;
  readonly #inUse: DevicesInUse;
  readonly #budget: TryBudget = { left: MAX_TRIES_OF_POD };
  /** By node name, the allocations of the waiting claims. */
  readonly #allocations = new Map<string, readonly AllocationResult[]>();

  constructor(question: DeviceQuestion) {
    this.#question = question;
    this.#inUse = question.objects.devicesInUse();
  }

  filter({ name: nodeName, node }: NodeInfo): Rejection | undefined {
    const { places, waiting, needs, objects } = this.#question;
    if (places.some((matches) => !matches(node))) return unresolvable(name, 'resourceclaim not available on the node');
    if (waiting.length === 0) return undefined;
    const picks = allocateDevices(needs, objects.devicePools().forNode(node), this.#inUse, this.#budget);
    if (picks === undefined) return unresolvable(name, 'cannot allocate all claims');
    this.#allocations.set(
      nodeName,
      waiting.map((claim, index) => allocationOf(claim, picks[index] ?? [], (each) => objects.deviceClass(each))),
    );
    return undefined;
  }

  claimPlan({ name: nodeName }: NodeInfo): ClaimPlan {
    const { pod, claims, waiting } = this.#question;
    const allocations = this.#allocations.get(nodeName) ?? [];
    return claims.flatMap((claim) => {
      const allocation = allocations[waiting.indexOf(claim)];
      return allocation === undefined && isReservedFor(claim, pod) ? [] : [{ claim, allocation }];
    });
  }
}
