import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { hasPodLevelResources } from '../../../api/resources.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { noCpus } from '../../model/cpu-set.ts';
import type {
  AllocationProblem,
  AllocationSource,
  NumaMask,
  ResourceDraft,
  ResourceHints,
} from '../../model/topology-hints.ts';
import type { CpuState } from './cpu-state.ts';
import { cpusOf, withAssignment, withPool } from './cpu-state.ts';
import type { PoolShare } from './pod-pool.ts';
import { dividePool, emptyPoolProblem } from './pod-pool.ts';
import type { StaticPolicy } from './static-policy.ts';
import { allocateCpus, cpuHints, exclusiveCpuCount, podCpuCount, smtProblem } from './static-policy.ts';

/** The result of the request of one container. */
export interface PinningOutcome {
  readonly container: string;
  readonly cpus: CpuSet;
  readonly from: AllocationSource;
  /** Whether no other container that runs at the same time has these CPUs. */
  readonly isExclusive: boolean;
  /** Whether the container had these CPUs already. */
  readonly isKept: boolean;
}

export interface CpuDraftParts {
  readonly policy: StaticPolicy;
  readonly state: CpuState;
  readonly pod: Pod;
  readonly onCommit: (state: CpuState, outcomes: readonly PinningOutcome[]) => void;
  readonly onProblem: (from: AllocationSource) => void;
}

/**
 * Allocates the exclusive CPUs of one pod, container by container (upstream: policy_static.go Allocate,
 * GetTopologyHints).
 */
export class CpuDraft implements ResourceDraft {
  readonly #parts: CpuDraftParts;
  readonly #outcomes: PinningOutcome[] = [];
  #state: CpuState;
  /** CPUs of init containers, which end before the later containers start. */
  #reusable: CpuSet = noCpus;

  constructor(parts: CpuDraftParts) {
    this.#parts = parts;
    this.#state = parts.state;
  }

  containerHints(container: Container): ResourceHints | undefined {
    const count = this.#countOf(container);
    if (count === 0) return undefined;
    const own = this.#cpusOf(container);
    if (own !== undefined) return this.#hintsFor(own, noCpus, { count, has: own.size });
    return this.#hintsFor(this.#available(), this.#reusable, { count, has: count });
  }

  podHints(): ResourceHints | undefined {
    const { pod, policy } = this.#parts;
    const count = podCpuCount(policy, pod);
    if (count === 0) return undefined;
    const pool = this.#state.pools.get(this.#uid);
    if (pool !== undefined) return this.#hintsFor(pool, noCpus, { count, has: pool.size });
    if (hasPodLevelResources(pod) && emptyPoolProblem(policy, pod) !== undefined) return new Map([['cpu', []]]);
    let assigned: CpuSet = noCpus;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const own = this.#cpusOf(container);
      if (own === undefined) continue;
      if (own.size !== this.#countOf(container)) return new Map([['cpu', []]]);
      assigned = assigned.union(own);
    }
    return this.#hintsFor(this.#available(), this.#reusable.union(assigned), { count, has: count });
  }

  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined {
    const { policy } = this.#parts;
    const count = this.#countOf(container);
    if (count === 0) return undefined;
    const own = this.#cpusOf(container);
    const noteOutcome = (cpus: CpuSet, isKept: boolean): void =>
      void this.#outcomes.push({ container: container.name, cpus, from: 'node', isExclusive: true, isKept });
    if (own !== undefined) {
      this.#noteReuse(container, own);
      noteOutcome(own, true);
      return undefined;
    }
    const available = this.#available().union(this.#reusable);
    const result =
      smtProblem(policy, this.#state.shared.union(this.#reusable), count) ??
      allocateCpus(policy, available, { count, affinity });
    if ('reason' in result) {
      this.#parts.onProblem('node');
      return result;
    }
    this.#state = withAssignment(this.#state, { uid: this.#uid, name: container.name, cpus: result });
    this.#noteReuse(container, result);
    noteOutcome(result, false);
    return undefined;
  }

  allocatePod(affinity: NumaMask | undefined): AllocationProblem | undefined {
    const { pod, policy } = this.#parts;
    const count = podCpuCount(policy, pod);
    // If the request has a fraction of a CPU, all containers of the pod run in the node's shared pool. A pod keeps CPUs
    // that it already has.
    if (count === 0 || this.#state.assignments.has(this.#uid)) return undefined;
    const result = this.#dividedPool(count, affinity);
    if ('reason' in result) {
      this.#parts.onProblem('pod');
      return result;
    }
    const { pool, shares } = result;
    const parts = new Map([...shares].map(([name, { cpus }]) => [name, cpus]));
    this.#state = withPool(this.#state, { uid: this.#uid, pool, parts });
    for (const [container, share] of shares) this.#outcomes.push({ container, ...share, from: 'pod', isKept: false });
    return undefined;
  }

  #dividedPool(
    count: number,
    affinity: NumaMask | undefined,
  ): { pool: CpuSet; shares: ReadonlyMap<string, PoolShare> } | AllocationProblem {
    const { pod, policy } = this.#parts;
    const pool =
      emptyPoolProblem(policy, pod) ??
      smtProblem(policy, this.#state.shared, count) ??
      allocateCpus(policy, this.#available(), { count, affinity });
    if ('reason' in pool) return pool;
    const shares = dividePool(policy, pod, pool);
    return 'reason' in shares ? shares : { pool, shares };
  }

  commit(): void {
    this.#parts.onCommit(this.#state, this.#outcomes);
  }

  get #uid(): string {
    return this.#parts.pod.metadata.uid ?? '';
  }

  #countOf(container: Container): number {
    return exclusiveCpuCount(this.#parts.policy, this.#parts.pod, container);
  }

  #available(): CpuSet {
    return this.#state.shared.difference(this.#parts.policy.reserved);
  }

  #cpusOf({ name }: Container): CpuSet | undefined {
    return cpusOf(this.#state, this.#uid, name);
  }

  #hintsFor(available: CpuSet, reusable: CpuSet, { count, has }: { count: number; has: number }): ResourceHints {
    const hints = has === count ? cpuHints(this.#parts.policy, { available, reusable, count }) : [];
    return new Map([['cpu', hints]]);
  }

  /**
   * Adds the container's CPUs to the reusable ones. A sidecar keeps its CPUs, because it runs beside the later
   * containers.
   */
  #noteReuse(container: Container, cpus: CpuSet): void {
    const isInit = (this.#parts.pod.spec.initContainers ?? []).includes(container);
    if (isInit && !isRestartableInit(container)) this.#reusable = this.#reusable.union(cpus);
    else this.#reusable = this.#reusable.difference(cpus);
  }
}
