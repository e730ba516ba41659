import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { isHugePageResource } from '../../../api/resources.ts';
import type { AllocationProblem, NumaMask, ResourceDraft, ResourceHints } from '../../model/topology-hints.ts';
import { unexpectedProblem } from '../../model/topology-hints.ts';
import type { MemoryRequest } from './memory-hints.ts';
import { bestHint, hasFree, isGroup, memoryHints, reusableBytes } from './memory-hints.ts';
import type { MemoryAssignments, MemoryBlock, MemoryCapacity, NodeMemory } from './memory-state.ts';
import { computeNodeMemory, idsOf, maskOf, sameGroup, withBlocks } from './memory-state.ts';

export interface MemoryDraftParts {
  readonly capacities: readonly MemoryCapacity[];
  readonly assignments: MemoryAssignments;
  readonly pod: Pod;
  readonly onCommit: (assignments: MemoryAssignments, allocated: readonly string[]) => void;
  readonly onProblem: () => void;
}

/** What the container may reserve: the memory and huge pages of a Guaranteed pod. */
export function memoryRequest(pod: Pod, container: Pick<Container, 'resources'>): MemoryRequest {
  // Pods with resources of their own need the alpha gate PodLevelResourceManagers upstream.
  if (podQos(pod) !== 'Guaranteed' || pod.spec.resources !== undefined) return new Map();
  const amounts = Object.entries(container.resources?.requests ?? {}).filter(
    ([resource]) => resource === 'memory' || isHugePageResource(resource),
  );
  return new Map(amounts.map(([resource, amount]) => [resource, quantityValue(amount)]));
}

/** The most that the pod uses at one time, by resource (upstream: getPodRequestedResources). */
export function podMemoryRequest(pod: Pod): MemoryRequest {
  const sidecars = new Map<string, number>();
  const most = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    for (const [resource, bytes] of memoryRequest(pod, container)) {
      const sum = (sidecars.get(resource) ?? 0) + bytes;
      if (isRestartableInit(container)) sidecars.set(resource, sum);
      most.set(resource, Math.max(most.get(resource) ?? 0, sum));
    }
  }
  const running = new Map(sidecars);
  for (const container of pod.spec.containers)
    for (const [resource, bytes] of memoryRequest(pod, container))
      running.set(resource, (running.get(resource) ?? 0) + bytes);
  for (const [resource, bytes] of running) most.set(resource, Math.max(most.get(resource) ?? 0, bytes));
  return most;
}

/** The memory of one pod, container by container (upstream: policy_static.go Allocate, GetTopologyHints). */
export class MemoryDraft implements ResourceDraft {
  readonly #parts: MemoryDraftParts;
  readonly #allocated: string[] = [];
  #assignments: MemoryAssignments;

  constructor(parts: MemoryDraftParts) {
    this.#parts = parts;
    this.#assignments = parts.assignments;
  }

  containerHints(container: Container): ResourceHints | undefined {
    const request = memoryRequest(this.#parts.pod, container);
    const own = this.#blocksOf(container.name);
    return own === undefined ? this.#hintsFor(request, container) : this.#keptHints(own, request);
  }

  podHints(): ResourceHints | undefined {
    const { pod } = this.#parts;
    const request = podMemoryRequest(pod);
    const own = [...(this.#assignments.get(this.#uid)?.values() ?? [])].flat();
    return own.length === 0 ? this.#hintsFor(request, undefined) : this.#keptHints(own, request, true);
  }

  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined {
    const request = memoryRequest(this.#parts.pod, container);
    if (request.size === 0 || this.#blocksOf(container.name) !== undefined) return undefined;
    const reusable = this.#reusable(container);
    const nodes = this.#nodes();
    const mask = chooseNodes(nodes, affinity, { request, reusable });
    if (typeof mask === 'string') {
      this.#parts.onProblem();
      return unexpectedProblem(`[memorymanager] ${mask}`);
    }
    const ids = idsOf(nodes, mask);
    const blocks = [...request].map(([resource, bytes]): MemoryBlock => ({ nodes: ids, resource, bytes }));
    for (const block of blocks) this.#takeOver(container, block);
    this.#set(container.name, blocks);
    this.#allocated.push(container.name);
    return undefined;
  }

  commit(): void {
    this.#parts.onCommit(this.#assignments, this.#allocated);
  }

  get #uid(): string {
    return this.#parts.pod.metadata.uid ?? '';
  }

  #nodes(): NodeMemory[] {
    return computeNodeMemory(this.#parts.capacities, this.#assignments);
  }

  #blocksOf(name: string): readonly MemoryBlock[] | undefined {
    return this.#assignments.get(this.#uid)?.get(name);
  }

  #set(name: string, blocks: readonly MemoryBlock[]): void {
    this.#assignments = withBlocks(this.#assignments, { uid: this.#uid, name, blocks });
  }

  /** The init containers before this one that end before it starts. */
  #endedBefore(container: Container | undefined): Container[] {
    const inits = this.#parts.pod.spec.initContainers ?? [];
    const at = inits.findIndex(({ name }) => name === container?.name);
    return (at < 0 ? inits : inits.slice(0, at)).filter((init) => !isRestartableInit(init));
  }

  #reusable(container: Container): MemoryBlock[] {
    return this.#endedBefore(container).flatMap(({ name }) => this.#blocksOf(name) ?? []);
  }

  /** What this container uses of an init container's memory is counted here and not there any more. */
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

  /** A container that has its memory prefers the nodes where that is. */
  #keptHints(own: readonly MemoryBlock[], request: MemoryRequest, isPod = false): ResourceHints {
    const nodes = this.#nodes();
    return new Map(
      [...request].map(([resource, bytes]) => {
        const blocks = own.filter((block) => block.resource === resource);
        const sum = blocks.reduce((total, block) => total + block.bytes, 0);
        const masks = new Set(blocks.map((block) => maskOf(nodes, block.nodes)));
        const [mask] = masks;
        // An init container gave some of its memory to the containers after it.
        const isWhole = isPod ? sum >= bytes : sum <= bytes;
        return [
          resource,
          masks.size === 1 && mask !== undefined && isWhole ? [{ affinity: mask, preferred: true }] : [],
        ];
      }),
    );
  }
}

/** The nodes that the hint names, with more of them if they have too little; a string says why there are none. */
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
