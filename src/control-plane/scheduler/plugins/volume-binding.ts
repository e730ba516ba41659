import { requestedStorage } from '../../../api/claim-size.ts';
import { storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { reject, skip } from '../framework/plugin.ts';
import type { Plugin, PodCheck, PreFilterResult, VolumePlan } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { ClusterObjects, Snapshot } from '../framework/snapshot.ts';
import {
  claimNameOf,
  claimNotFound,
  classOfClaim,
  classOfVolume,
  ephemeralProblem,
  isBoundTo,
  isFullyBound,
  reachOf,
  usesClaim,
} from './claims.ts';
import { EnoughStorage, volumeLimit } from './storage-capacity.ts';

const NAME = 'VolumeBinding';
const reasons = {
  bind: "node(s) didn't find available persistent volumes to bind",
  affinity: "node(s) didn't match PersistentVolume's node affinity",
  space: 'node(s) did not have enough free storage',
  missing: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
};

/**
 * Filters nodes by the pod's claims. Bound claims require nodes that can access their volumes. For claims that wait for
 * the pod, it selects a volume of the node or a node for provisioning.
 */
export const volumeBinding: Plugin = {
  name: NAME,
  hints: {
    StorageClass: [
      {
        actions: ['Add', 'Update'],
        mayHelp: (_pod, { before, after }) =>
          before === undefined || JSON.stringify(before.allowedTopologies) !== JSON.stringify(after?.allowedTopologies),
      },
    ],
    PersistentVolumeClaim: [{ actions: ['Add', 'Update'], mayHelp: (pod, { after }) => usesClaim(pod, after) }],
    PersistentVolume: [{ actions: ['Add', 'Update'] }],
    Node: [{ actions: ['Add', 'UpdateNodeLabel'] }],
    CSINode: [{ actions: ['Add'] }],
    CSIDriver: [
      {
        actions: ['Update'],
        mayHelp: (_pod, { before, after }) =>
          before?.spec.storageCapacity === true && after?.spec.storageCapacity !== true,
      },
    ],
    CSIStorageCapacity: [
      {
        actions: ['Add', 'Update'],
        mayHelp: (_pod, { before, after }) => {
          const [was, is] = [before && volumeLimit(before), after && volumeLimit(after)];
          return is !== undefined && (was === undefined || compareQuantities(is, was) > 0);
        },
      },
    ],
  },
  preFilter,
};

interface SortedClaims {
  readonly bound: PersistentVolumeClaim[];
  readonly waiting: PersistentVolumeClaim[];
  readonly immediate: PersistentVolumeClaim[];
}

function preFilter(pod: PodInfo, { objects }: Snapshot): PreFilterResult {
  const claims: PersistentVolumeClaim[] = [];
  for (const volume of pod.pod.spec.volumes ?? []) {
    const named = claimNameOf(pod.pod, volume);
    if (named === undefined) continue;
    const claim = objects.claim(pod.namespace, named.name);
    if (claim === undefined)
      return reject(
        unresolvable(
          NAME,
          named.isEphemeral
            ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${named.name}"`
            : claimNotFound(named.name),
        ),
      );
    const problem = problemOf(claim) ?? (named.isEphemeral ? ephemeralProblem(pod.pod, claim) : undefined);
    if (problem !== undefined) return reject(unresolvable(NAME, problem));
    claims.push(claim);
  }
  if (claims.length === 0) return skip;
  const sorted = sortClaims(claims, objects);
  if (sorted.immediate.length > 0)
    return reject(unresolvable(NAME, 'pod has unbound immediate PersistentVolumeClaims'));
  return { kind: 'check', check: new BindingCheck(sorted, objects) };
}

function problemOf({ metadata, spec, status }: PersistentVolumeClaim): string | undefined {
  if (status?.phase === 'Lost')
    return `persistentvolumeclaim "${metadata.name}" bound to non-existent persistentvolume "${spec.volumeName ?? ''}"`;
  return metadata.deletionTimestamp === undefined
    ? undefined
    : `persistentvolumeclaim "${metadata.name}" is being deleted`;
}

function sortClaims(claims: readonly PersistentVolumeClaim[], objects: ClusterObjects): SortedClaims {
  const sorted: SortedClaims = { bound: [], waiting: [], immediate: [] };
  for (const claim of claims) {
    const waits = objects.storageClass(classOfClaim(claim))?.volumeBindingMode === 'WaitForFirstConsumer';
    if (isFullyBound(claim)) sorted.bound.push(claim);
    else if (waits && (claim.spec.volumeName ?? '') === '') sorted.waiting.push(claim);
    else sorted.immediate.push(claim);
  }
  return sorted;
}

class BindingCheck implements PodCheck {
  readonly #claims: SortedClaims;
  readonly #objects: ClusterObjects;
  /** The plans by node name. The plan of the chosen node is used later. */
  readonly #plans = new Map<string, VolumePlan>();
  /** The storage of each claim. It is the same for all nodes. */
  readonly #storage = new Map<PersistentVolumeClaim, EnoughStorage>();

  constructor(claims: SortedClaims, objects: ClusterObjects) {
    this.#claims = claims;
    this.#objects = objects;
  }

  filter(node: NodeInfo): Rejection | undefined {
    const problems: string[] = [];
    const bound = this.#checkBound(node);
    if (bound === 'affinity') problems.push(reasons.affinity);
    const plan = this.#planWaiting(node);
    if (typeof plan === 'string') problems.push(reasons[plan]);
    else this.#plans.set(node.name, plan);
    if (bound === 'missing') problems.push(reasons.missing);
    return problems.length === 0 ? undefined : unresolvable(NAME, ...problems);
  }

  volumePlan(node: NodeInfo): VolumePlan | undefined {
    const plan = this.#plans.get(node.name);
    return plan === undefined || (plan.bindings.length === 0 && plan.provisions.length === 0) ? undefined : plan;
  }

  #checkBound({ node }: NodeInfo): keyof typeof reasons | undefined {
    for (const { spec } of this.#claims.bound) {
      const volume = this.#objects.volume(spec.volumeName ?? '');
      if (volume === undefined) return 'missing';
      if (reachOf(volume)?.(node) === false) return 'affinity';
    }
    return undefined;
  }

  /**
   * Plans the waiting claims on a node, or tells why the node cannot serve all of them. Small claims choose first, so
   * that they take the smallest volumes.
   */
  #planWaiting(node: NodeInfo): VolumePlan | 'bind' | 'space' {
    const bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
    const provisions: PersistentVolumeClaim[] = [];
    const taken = new Set<string>();
    for (const claim of [...this.#claims.waiting].sort((left, right) =>
      compareQuantities(requestedStorage(left), requestedStorage(right)),
    )) {
      const selected = claim.metadata.annotations?.[storageAnnotations.selectedNode];
      if (selected !== undefined && selected !== node.name) return 'bind';
      const volume = selected === undefined ? findVolume(claim, this.#objects.volumes(), node, taken) : undefined;
      if (volume !== undefined) {
        taken.add(volume.metadata.name);
        bindings.push({ claim, volume });
      } else if (!this.#canProvision(claim, node)) return 'bind';
      else if (!this.#hasStorage(claim, node)) return 'space';
      else provisions.push(claim);
    }
    return { bindings, provisions };
  }

  #canProvision(claim: PersistentVolumeClaim, { labels }: NodeInfo): boolean {
    const storageClass = this.#objects.storageClass(classOfClaim(claim));
    if (
      storageClass === undefined ||
      storageClass.provisioner === '' ||
      storageClass.provisioner === 'kubernetes.io/no-provisioner'
    )
      return false;
    const terms = storageClass.allowedTopologies ?? [];
    return (
      terms.length === 0 ||
      terms.some((term) =>
        (term.matchLabelExpressions ?? []).every(({ key, values }) => values.includes(labels[key] ?? '')),
      )
    );
  }

  /** Whether the driver has enough storage. Drivers that do not report their capacity always have. */
  #hasStorage(claim: PersistentVolumeClaim, { labels }: NodeInfo): boolean {
    const className = classOfClaim(claim);
    const driver = this.#objects.csiDriver(this.#objects.storageClass(className)?.provisioner ?? '');
    if (driver?.spec.storageCapacity !== true || claim.spec.resources?.requests?.['storage'] === undefined) return true;
    let storage = this.#storage.get(claim);
    if (storage === undefined) {
      storage = new EnoughStorage(this.#objects.storageCapacities(), className, requestedStorage(claim));
      this.#storage.set(claim, storage);
    }
    return storage.reaches(labels);
  }
}

const capacityOf = ({ spec }: PersistentVolume): string => spec.capacity?.['storage'] ?? '0';

/**
 * Returns the smallest suitable volume. A volume that is pre-bound to the claim takes precedence (upstream:
 * volume.FindMatchingVolume).
 */
function findVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  node: NodeInfo,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  let smallest: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (taken.has(volume.metadata.name) || classOfVolume(volume) !== classOfClaim(claim) || !couldServe(volume, claim))
      continue;
    const reaches = reachOf(volume)?.(node.node) !== false;
    if (volume.spec.claimRef !== undefined) {
      if (!isBoundTo(volume, claim)) continue;
      return reaches ? volume : undefined;
    }
    if (!reaches || volume.status?.phase !== 'Available') continue;
    if (claim.spec.selector !== undefined && !matchesLabelSelector(claim.spec.selector, volume.metadata.labels ?? {}))
      continue;
    if (!(claim.spec.accessModes ?? []).every((mode) => (volume.spec.accessModes ?? []).includes(mode))) continue;
    if (smallest === undefined || compareQuantities(capacityOf(volume), capacityOf(smallest)) < 0) smallest = volume;
  }
  return smallest;
}

function couldServe(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (
    volume.metadata.deletionTimestamp !== undefined ||
    compareQuantities(capacityOf(volume), requestedStorage(claim)) < 0
  )
    return false;
  if ((volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem')) return false;
  return (volume.spec.volumeAttributesClassName ?? '') === (claim.spec.volumeAttributesClassName ?? '');
}
