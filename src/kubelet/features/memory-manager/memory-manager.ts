import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import type { Logger } from '../../../base/log.ts';
import type { HintProvider, ResourceDraft } from '../../model/topology-hints.ts';
import { encodeMemoryCheckpoint } from './memory-checkpoint.ts';
import { MemoryDraft } from './memory-draft.ts';
import type { MemoryAssignments, MemoryCapacity } from './memory-state.ts';
import { computeNodeMemory } from './memory-state.ts';

/** Counts what the manager does: a container asked for memory of its own. */
export interface MemoryManagerObserver {
  pinned(outcome: { readonly failed: boolean }): void;
}

/** Memory of one kind from some NUMA nodes, for other components. */
export interface MemoryUse {
  readonly type: string;
  readonly bytes: number;
  readonly numaNodes: readonly number[];
}

export interface MemoryManagerParts {
  readonly policyName: 'None' | 'Static';
  /** Empty with the policy `None`. */
  readonly capacities: readonly MemoryCapacity[];
  readonly assignments: MemoryAssignments;
  readonly observer: MemoryManagerObserver;
  readonly log: Logger;
}

const nothingToAllocate: ResourceDraft = {
  containerHints: () => undefined,
  podHints: () => undefined,
  allocate: () => undefined,
  commit: () => undefined,
};

/**
 * Reserves memory of NUMA nodes for containers of Guaranteed pods (upstream: cm/memorymanager). A container keeps its
 * nodes until its pod is over. Groups of nodes never overlap partly.
 */
export class MemoryManager implements HintProvider {
  readonly #parts: MemoryManagerParts;
  readonly #listeners = new Set<() => void>();
  #assignments: MemoryAssignments;

  constructor(parts: MemoryManagerParts) {
    this.#parts = parts;
    this.#assignments = parts.assignments;
  }

  begin(pod: Pod): ResourceDraft {
    const { policyName, capacities, observer, log } = this.#parts;
    if (policyName === 'None') return nothingToAllocate;
    return new MemoryDraft({
      capacities,
      assignments: this.#assignments,
      pod,
      onProblem: () => observer.pinned({ failed: true }),
      onCommit: (assignments, allocated) => {
        for (const container of allocated) {
          const nodes = [...this.#nodesOf(assignments, pod.metadata.uid ?? '', container)];
          log.info('memory allocated', { pod: podKey(pod), container, numaNodes: nodes.join(',') });
          observer.pinned({ failed: false });
        }
        if (allocated.length > 0) this.#become(assignments);
      },
    });
  }

  /** The ids of the NUMA nodes whose memory the container may use; undefined for all (upstream: GetMemoryNUMANodes). */
  affinity(uid: string, container: string): ReadonlySet<number> | undefined {
    const nodes = this.#nodesOf(this.#assignments, uid, container);
    return nodes.size === 0 ? undefined : nodes;
  }

  /** The memory of one container; empty for one that uses all nodes (upstream: GetMemory). */
  blocks(uid: string, container: string): MemoryUse[] {
    return (this.#assignments.get(uid)?.get(container) ?? []).map(({ nodes, resource, bytes }) => ({
      type: resource,
      bytes,
      numaNodes: nodes,
    }));
  }

  /** The memory that containers may have (upstream: GetAllocatableMemory). */
  allocatable(): MemoryUse[] {
    return this.#parts.capacities.flatMap(({ id, resources }) =>
      [...resources]
        .filter(([, { allocatable }]) => allocatable > 0)
        .map(([type, { allocatable }]) => ({ type, bytes: allocatable, numaNodes: [id] })),
    );
  }

  /** Returns the memory of all other pods. */
  retain(isLive: (uid: string) => boolean): void {
    const kept = new Map([...this.#assignments].filter(([uid]) => isLive(uid)));
    if (kept.size < this.#assignments.size) this.#become(kept);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The content of `memory_manager_state`. */
  checkpoint(): string {
    const { policyName: policy, capacities } = this.#parts;
    const assignments = this.#assignments;
    return encodeMemoryCheckpoint({ policy, nodes: computeNodeMemory(capacities, assignments), assignments });
  }

  #nodesOf(assignments: MemoryAssignments, uid: string, container: string): Set<number> {
    return new Set((assignments.get(uid)?.get(container) ?? []).flatMap(({ nodes }) => nodes));
  }

  #become(assignments: MemoryAssignments): void {
    this.#assignments = assignments;
    for (const listener of this.#listeners) listener();
  }
}
