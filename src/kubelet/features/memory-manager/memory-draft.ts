import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { hasPodLevelResources } from '../../../api/resources.ts';
import type {
  AllocationProblem,
  AllocationSource,
  Assignment,
  NumaMask,
  ResourceDraft,
  ResourceHints,
} from '../../model/topology-hints.ts';
import { unexpectedProblem } from '../../model/topology-hints.ts';
import type { MemoryRequest } from './memory-hints.ts';
import { bestHint, hasFree, isGroup, memoryHints, reusableBytes } from './memory-hints.ts';
import { memoryRequest, podMemoryRequest } from './memory-request.ts';
import type { MemoryAssignments, MemoryBlock, MemoryCapacity, MemoryPools, NodeMemory } from './memory-state.ts';
import { computeNodeMemory, idsOf, maskOf, sameGroup, withBlocks } from './memory-state.ts';
import { divideMemory, emptyMemoryProblem } from './pod-memory.ts';

/** The current assignments. */
export interface MemoryHoldings {
  readonly assignments: MemoryAssignments;
  readonly pools: MemoryPools;
}

/** Memory that was allocated to one container. */
export interface AllocatedMemory extends Assignment {
  readonly container: string;
}

export interface MemoryDraftParts extends MemoryHoldings {
  readonly capacities: readonly MemoryCapacity[];
  readonly pod: Pod;
  /** The gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
  readonly onCommit: (holdings: MemoryHoldings, allocated: readonly AllocatedMemory[]) => void;
  readonly onProblem: (from: AllocationSource) => void;
}

/** Allocates the memory of one pod, container by container (upstream: policy_static.go Allocate, GetTopologyHints). */
export class MemoryDraft implements ResourceDraft {
  readonly #parts: MemoryDraftParts;
  readonly #allocated: AllocatedMemory[] = [];
  #assignments: MemoryAssignments;
  #pools: MemoryPools;

  constructor(parts: MemoryDraftParts) {
    this.#parts = parts;
    this.#assignments = parts.assignments;
    this.#pools = parts.pools;
  }

  containerHints(container: Container): ResourceHints | undefined {
    const request = memoryRequest(this.#parts, this.#parts.pod, container);
    const own = this.#blocksOf(container.name);
    return own === undefined ? this.#hintsFor(request, container) : this.#keptHints(own, request);
  }

  podHints(): ResourceHints | undefined {
    const { pod } = this.#parts;
    const request = podMemoryRequest(this.#parts, pod);
    const pool = this.#pools.get(this.#uid);
    if (pool !== undefined) return this.#keptHints(pool, request);
    const isRefused = this.#usesPool && emptyMemoryProblem(this.#parts, pod) !== undefined;
    if (isRefused) return new Map([...request.keys()].map((resource) => [resource, []]));
    const own = [...(this.#assignments.get(this.#uid)?.values() ?? [])].flat();
    return own.length === 0 ? this.#hintsFor(request, undefined) : this.#keptHints(own, request, true);
  }

  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined {
    const request = memoryRequest(this.#parts, this.#parts.pod, container);
    if (request.size === 0 || this.#blocksOf(container.name) !== undefined) return undefined;
    const reusable = this.#reusable(container);
    const nodes = this.#nodes();
    const mask = chooseNodes(nodes, affinity, { request, reusable });
    if (typeof mask === 'string') {
      this.#parts.onProblem('node');
      return unexpectedProblem(`[memorymanager] ${mask}`);
    }
    const ids = idsOf(nodes, mask);
    const blocks = [...request].map(([resource, bytes]): MemoryBlock => ({ nodes: ids, resource, bytes }));
    for (const block of blocks) this.#takeOver(container, block);
    this.#set(container.name, blocks);
    this.#allocated.push({ container: container.name, from: 'node', isExclusive: true });
    return undefined;
  }

  allocatePod(affinity: NumaMask | undefined): AllocationProblem | undefined {
    const { pod, onProblem } = this.#parts;
    const request = podMemoryRequest(this.#parts, pod);
    // A pod keeps memory that it already has.
    if (request.size === 0 || this.#assignments.has(this.#uid)) return undefined;
    const nodes = this.#nodes();
    const problem = emptyMemoryProblem(this.#parts, pod);
    const mask = problem ?? chooseNodes(nodes, affinity, { request, reusable: [] });
    if (typeof mask !== 'number') {
      onProblem('pod');
      return typeof mask === 'string' ? unexpectedProblem(`[memorymanager] ${mask}`) : mask;
    }
    const ids = idsOf(nodes, mask);
    const blocksOf = (amounts: MemoryRequest): MemoryBlock[] =>
      [...amounts].map(([resource, bytes]) => ({ nodes: ids, resource, bytes }));
    const shares = [...divideMemory(this.#parts, pod)];
    const containers = new Map(shares.map(([name, { amounts }]) => [name, blocksOf(amounts)]));
    this.#assignments = new Map([...this.#assignments, [this.#uid, containers]]);
    this.#pools = new Map([...this.#pools, [this.#uid, blocksOf(request)]]);
    for (const [container, { isExclusive }] of shares) this.#allocated.push({ container, from: 'pod', isExclusive });
    return undefined;
  }

  commit(): void {
    this.#parts.onCommit({ assignments: this.#assignments, pools: this.#pools }, this.#allocated);
  }

  get #uid(): string {
    return this.#parts.pod.metadata.uid ?? '';
  }

  get #usesPool(): boolean {
    return this.#parts.podLevel && hasPodLevelResources(this.#parts.pod);
  }

  #nodes(): NodeMemory[] {
    return computeNodeMemory(this.#parts.capacities, this.#assignments, this.#pools);
  }

  #blocksOf(name: string): readonly MemoryBlock[] | undefined {
    return this.#assignments.get(this.#uid)?.get(name);
  }

  #set(name: string, blocks: readonly MemoryBlock[]): void {
    this.#assignments = withBlocks(this.#assignments, { uid: this.#uid, name, blocks });
  }

  /** Returns the earlier init containers that end before this container starts. */
  #endedBefore(container: Container | undefined): Container[] {
    const inits = this.#parts.pod.spec.initContainers ?? [];
    const at = inits.findIndex(({ name }) => name === container?.name);
    return (at < 0 ? inits : inits.slice(0, at)).filter((init) => !isRestartableInit(init));
  }

  #reusable(container: Container): MemoryBlock[] {
    return this.#endedBefore(container).flatMap(({ name }) => this.#blocksOf(name) ?? []);
  }

  /** Moves memory that this container reuses from an init container, so that it is counted only here. */
  #takeOver(container: Container, { nodes, resource, bytes }: MemoryBlock): void {
    let left = Math.min(bytes, reusableBytes(this.#reusable(container), resource, nodes));
    for (const { name } of this.#endedBefore(container)) {
      const blocks = this.#blocksOf(name);
      if (blocks === undefined || left === 0) continue;
      const smaller = blocks.map((block) => {
        if (block.resource !== resource || !sameGroup(block.nodes, nodes)) return block;
        const taken = Math.min(left, block.bytes);
        left -= taken;
        return { ...block, bytes: block.bytes - taken };
      });
      this.#set(name, smaller);
    }
  }

  #hintsFor(request: MemoryRequest, container: Container | undefined): ResourceHints | undefined {
    if (request.size === 0) return undefined;
    const reusable = container === undefined ? [] : this.#reusable(container);
    const hints = memoryHints(this.#nodes(), request, reusable);
    return new Map([...request.keys()].map((resource) => [resource, hints]));
  }

  /** Returns the hints of a container that has its memory: it prefers the nodes of that memory. */
  #keptHints(own: readonly MemoryBlock[], request: MemoryRequest, isPod = false): ResourceHints {
    const nodes = this.#nodes();
    return new Map(
      [...request].map(([resource, bytes]) => {
        const blocks = own.filter((block) => block.resource === resource);
        const sum = blocks.reduce((total, block) => total + block.bytes, 0);
        const masks = new Set(blocks.map((block) => maskOf(nodes, block.nodes)));
        const [mask] = masks;
        // An init container gave some of its memory to the later containers.
        const isWhole = isPod ? sum >= bytes : sum <= bytes;
        return [
          resource,
          masks.size === 1 && mask !== undefined && isWhole ? [{ affinity: mask, preferred: true }] : [],
        ];
      }),
    );
  }
}

/**
 * Returns the nodes of the hint, and more nodes if these have too little memory. Returns a string with the reason if
 * there are none.
 */
function chooseNodes(
  nodes: readonly NodeMemory[],
  affinity: NumaMask | undefined,
  { request, reusable }: { request: MemoryRequest; reusable: readonly MemoryBlock[] },
): NumaMask | string {
  let mask = affinity;
  if (mask === undefined || !hasFree(nodes, mask, { request, reusable })) {
    const wanted = affinity ?? 0;
    const hints = memoryHints(nodes, request, reusable).filter((hint) => ((hint.affinity ?? 0) & wanted) === wanted);
    mask = bestHint(hints)?.affinity;
    if (mask === undefined)
      return affinity === undefined
        ? 'failed to get the default NUMA affinity, no NUMA nodes with enough memory is available'
        : 'failed to find NUMA nodes to extend the current topology hint';
  }
  return isGroup(nodes, mask) ? mask : 'preferred hint violates NUMA node allocation';
}
