import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import { podReasons } from '../../api/reasons.ts';

/** A set of NUMA nodes, one bit per position in the sorted list of the machine's nodes; at most 31 nodes. */
export type NumaMask = number;

/** One way to serve a request for a resource (upstream: topologymanager TopologyHint). */
export interface TopologyHint {
  /** The nodes; undefined if the resource belongs to no node. */
  readonly affinity: NumaMask | undefined;
  /** Whether no smaller set of nodes could serve the request. */
  readonly preferred: boolean;
}

/** The hints by resource. An empty list means that no nodes can serve the request. */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[]>;

/** Why nothing is allocated to a pod. `reason` becomes the reason of its rejection. */
export interface AllocationProblem {
  readonly reason: string;
  readonly message: string;
}

/**
 * A manager of a resource that belongs to NUMA nodes (upstream: topologymanager HintProvider). Allocations are made on
 * drafts, so that a pod that is not admitted in the end changes nothing.
 */
export interface HintProvider {
  begin(pod: Pod): ResourceDraft;
}

/**
 * The allocations of one pod. Nothing is allocated before `commit`. A draft must be used immediately and not stored.
 */
export interface ResourceDraft {
  /** Returns the hints of a container; undefined if it needs nothing of this resource, or has no preference. */
  containerHints(container: Container): ResourceHints | undefined;
  /** Returns the hints for all containers of the pod together. */
  podHints(): ResourceHints | undefined;
  /**
   * Allocates for one container, which keeps what it already has. It is called in the order in which containers start.
   */
  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined;
  /**
   * Allocates for a pod with pod-level resources, all containers at once. If it is absent, resources are allocated
   * container by container with the affinity of the pod.
   */
  allocatePod?(affinity: NumaMask | undefined): AllocationProblem | undefined;
  commit(): void;
}

/** The draft of a manager that allocates nothing. */
export const emptyDraft: ResourceDraft = {
  containerHints: () => undefined,
  podHints: () => undefined,
  allocate: () => undefined,
  commit: () => undefined,
};

/** The source of resources: the node, or what a pod has as a whole. */
export type AllocationSource = 'node' | 'pod';

/** One allocation to a container. */
export interface Assignment {
  readonly from: AllocationSource;
  /** False if the container shares the resources with others of its pod. */
  readonly isExclusive: boolean;
}

/** Returns the number of nodes in a mask. */
export function countNodes(mask: NumaMask): number {
  let rest = mask;
  let count = 0;
  for (; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** Returns the positions in a mask, ascending. */
export function positionsOf(mask: NumaMask): number[] {
  const positions: number[] = [];
  for (let position = 0; mask >> position !== 0; position += 1) if ((mask >> position) & 1) positions.push(position);
  return positions;
}

/**
 * Compares masks: fewer nodes first, then the lower ones (upstream: bitmask IsNarrowerThan). Negative if `left` comes
 * first.
 */
export function compareMasks(left: NumaMask, right: NumaMask): number {
  return countNodes(left) - countNodes(right) || left - right;
}

/**
 * Returns the hints for a request that some masks of `nodes` nodes can serve, with the smallest number of nodes that it
 * ever needs.
 */
export function hintsOf(
  nodes: number,
  { serves, least }: { serves: (mask: NumaMask) => boolean; least: number },
): TopologyHint[] {
  const hints: TopologyHint[] = [];
  for (let mask = 1; mask < 2 ** nodes; mask += 1)
    if (serves(mask)) hints.push({ affinity: mask, preferred: countNodes(mask) === least });
  return hints;
}

/** Returns the problem for a failure without its own reason (upstream: cm/admission GetPodAdmitResult). */
export function unexpectedProblem(cause: string): AllocationProblem {
  return {
    reason: podReasons.unexpectedAdmissionError,
    message: `Allocate failed due to ${cause}, which is unexpected`,
  };
}
