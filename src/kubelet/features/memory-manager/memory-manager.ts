import { emptyDraft } from '../../model/topology-hints.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import type { Logger } from '../../../base/log.ts';
import type { AllocationSource, Assignment, HintProvider, ResourceDraft } from '../../model/topology-hints.ts';
import { encodeMemoryCheckpoint } from './memory-checkpoint.ts';
import { MemoryDraft } from './memory-draft.ts';
import type { MemoryAssignments, MemoryCapacity, MemoryPools } from './memory-state.ts';
import { computeNodeMemory } from './memory-state.ts';

/** Counts what the manager does. */
export interface MemoryManagerObserver {
  /** Counts a container that got memory of NUMA nodes, from the nodes or from the memory of its pod. */
  assigned(assignment: Assignment): void;
  /** Counts a container, or a pod as a whole, that could not get memory. */
  refused(from: AllocationSource): void;
}

/** Memory of one kind from some NUMA nodes, for other components. */
export interface MemoryUse {
  readonly type: string;
  readonly bytes: number;
  readonly numaNodes: readonly number[];
}

export interface MemoryManagerParts {
  readonly policyName: 'None' | 'Static';
  /** The capacities; empty with the policy `None`. */
  readonly capacities: readonly MemoryCapacity[];
  readonly assignments: MemoryAssignments;
  readonly pools: MemoryPools;
  /**
   * The gate PodLevelResourceManagers, with which pods with pod-level resources get memory, and the state file has its
   * format.
   */
  readonly podLevel: boolean;
  readonly observer: MemoryManagerObserver;
  readonly log: Logger;
}

/**
 * Reserves memory of NUMA nodes for containers of Guaranteed pods (upstream: cm/memorymanager). A container keeps its
 * nodes until its pod has ended. Groups of nodes never overlap partly.
 */
export class MemoryManager implements HintProvider {
  readonly #parts: MemoryManagerParts;
  readonly #listeners = new Set<() => void>();
  #assignments: MemoryAssignments;
  #pools: MemoryPools;

  constructor(parts: MemoryManagerParts) {
    this.#parts = parts;
    this.#assignments = parts.assignments;
    this.#pools = parts.pools;
  }

  begin(pod: Pod): ResourceDraft {
    const { policyName, podLevel, capacities, observer, log } = this.#parts;
    if (policyName === 'None') return emptyDraft;
    return new MemoryDraft({
      capacities,
      assignments: this.#assignments,
      pools: this.#pools,
      podLevel,
      pod,
      onProblem: (from) => observer.refused(from),
      onCommit: ({ assignments, pools }, allocated) => {
        for (const { container, ...assignment } of allocated) {
          const nodes = [...this.#nodesOf(assignments, pod.metadata.uid ?? '', container)];
          log.info('memory allocated', { pod: podKey(pod), container, numaNodes: nodes.join(',') });
          observer.assigned(assignment);
        }
        if (allocated.length > 0) this.#become(assignments, pools);
      },
    });
  }

  /**
   * Returns the ids of the NUMA nodes whose memory the container may use; undefined for all (upstream:
   * GetMemoryNUMANodes).
   */
  affinity(uid: string, container: string): ReadonlySet<number> | undefined {
    const nodes = this.#nodesOf(this.#assignments, uid, container);
    return nodes.size === 0 ? undefined : nodes;
  }

  /** Returns the memory of one container; empty for one that uses all nodes (upstream: GetMemory). */
  blocks(uid: string, container: string): MemoryUse[] {
    return (this.#assignments.get(uid)?.get(container) ?? []).map(({ nodes, resource, bytes }) => ({
      type: resource,
      bytes,
      numaNodes: nodes,
    }));
  }

  /** Returns the memory that can be allocated to containers (upstream: GetAllocatableMemory). */
  allocatable(): MemoryUse[] {
    return this.#parts.capacities.flatMap(({ id, resources }) =>
      [...resources]
        .filter(([, { allocatable }]) => allocatable > 0)
        .map(([type, { allocatable }]) => ({ type, bytes: allocatable, numaNodes: [id] })),
    );
  }

  /** Frees the memory of all other pods. */
  retain(isLive: (uid: string) => boolean): void {
    const kept = new Map([...this.#assignments].filter(([uid]) => isLive(uid)));
    if (kept.size === this.#assignments.size) return;
    this.#become(kept, new Map([...this.#pools].filter(([uid]) => isLive(uid))));
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Returns the content of `memory_manager_state`. */
  checkpoint(): string {
    const { policyName: policy, capacities, podLevel } = this.#parts;
    const [assignments, pools] = [this.#assignments, this.#pools];
    const nodes = computeNodeMemory(capacities, assignments, pools);
    return encodeMemoryCheckpoint({ policy, nodes, assignments, pools: podLevel ? pools : undefined });
  }

  #nodesOf(assignments: MemoryAssignments, uid: string, container: string): Set<number> {
    return new Set((assignments.get(uid)?.get(container) ?? []).flatMap(({ nodes }) => nodes));
  }

  #become(assignments: MemoryAssignments, pools: MemoryPools): void {
    this.#assignments = assignments;
    this.#pools = pools;
    for (const listener of this.#listeners) listener();
  }
}
