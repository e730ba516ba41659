import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import { podReasons } from '../../api/reasons.ts';

/** NUMA nodes by their position in the sorted list of the machine's nodes, one bit each; at most 31 nodes. */
export type NumaMask = number;

/** One way to serve a request for a resource (upstream: topologymanager TopologyHint). */
export interface TopologyHint {
  /** Undefined: the resource has no place of its own. */
  readonly affinity: NumaMask | undefined;
  /** No fewer nodes could serve the request. */
  readonly preferred: boolean;
}

/** By resource. An empty list is a request that no nodes can serve. */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[]>;

/** Why a pod gets nothing. `reason` becomes the reason of its rejection. */
export interface AllocationProblem {
  readonly reason: string;
  readonly message: string;
}

/**
 * A manager of a resource that has a place in the machine (upstream: topologymanager HintProvider). Allocations are
 * tried on drafts, so that a pod that is not admitted in the end leaves no trace.
 */
export interface HintProvider {
  begin(pod: Pod): ResourceDraft;
}

/** The allocations of one pod. Nothing is allocated before `commit`. A draft is used at once and not kept. */
export interface ResourceDraft {
  /** Undefined: the container needs nothing of this resource, or has no preference. */
  containerHints(container: Container): ResourceHints | undefined;
  /** The same for all containers of the pod together. */
  podHints(): ResourceHints | undefined;
  /** Allocates for one container; what it has already stays. The containers are given in the order of their start. */
  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined;
  /**
   * Allocates for a pod with resources of its own, all containers at once. Without it, each container gets its own
   * with the affinity of the pod.
   */
  allocatePod?(affinity: NumaMask | undefined): AllocationProblem | undefined;
  commit(): void;
}

/** Of a manager that allocates nothing. */
export const emptyDraft: ResourceDraft = {
  containerHints: () => undefined,
  podHints: () => undefined,
  allocate: () => undefined,
  commit: () => undefined,
};

/** Where a manager took resources: from the node, or from what a pod has as a whole. */
export type AllocationSource = 'node' | 'pod';

/** One container got resources. */
export interface Assignment {
  readonly from: AllocationSource;
  /** False for a container that shares them with others of its pod. */
  readonly isExclusive: boolean;
}

/** The number of nodes in a mask. */
export function countNodes(mask: NumaMask): number {
  let rest = mask;
  let count = 0;
  for (; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** The positions in a mask, ascending. */
export function positionsOf(mask: NumaMask): number[] {
  const positions: number[] = [];
  for (let position = 0; mask >> position !== 0; position += 1) if ((mask >> position) & 1) positions.push(position);
  return positions;
}

/** Fewer nodes first, then the lower ones (upstream: bitmask IsNarrowerThan). Negative when `left` comes first. */
export function compareMasks(left: NumaMask, right: NumaMask): number {
  return countNodes(left) - countNodes(right) || left - right;
}

/** The hints for a request that some masks of `nodes` nodes can serve, and the least number of nodes it ever needs. */
export function hintsOf(
  nodes: number,
  { serves, least }: { serves: (mask: NumaMask) => boolean; least: number },
): TopologyHint[] {
  const hints: TopologyHint[] = [];
  for (let mask = 1; mask < 2 ** nodes; mask += 1)
    if (serves(mask)) hints.push({ affinity: mask, preferred: countNodes(mask) === least });
  return hints;
}

/** A failure that has no reason of its own (upstream: cm/admission GetPodAdmitResult). */
export function unexpectedProblem(cause: string): AllocationProblem {
  return {
    reason: podReasons.unexpectedAdmissionError,
    message: `Allocate failed due to ${cause}, which is unexpected`,
  };
}
