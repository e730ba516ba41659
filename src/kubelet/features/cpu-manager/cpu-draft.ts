import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { noCpus } from '../../model/cpu-set.ts';
import type { AllocationProblem, NumaMask, ResourceDraft, ResourceHints } from '../../model/topology-hints.ts';
import type { CpuState } from './cpu-state.ts';
import { cpusOf, withAssignment } from './cpu-state.ts';
import type { StaticPolicy } from './static-policy.ts';
import { allocateCpus, cpuHints, exclusiveCpuCount, podCpuCount, smtProblem } from './static-policy.ts';

/** What became of the request of one container. */
export interface PinningOutcome {
  readonly container: string;
  /** Undefined: it failed. */
  readonly cpus: CpuSet | undefined;
  /** It had them already. */
  readonly isKept: boolean;
}

export interface CpuDraftParts {
  readonly policy: StaticPolicy;
  readonly state: CpuState;
  readonly pod: Pod;
  readonly onCommit: (state: CpuState, outcomes: readonly PinningOutcome[]) => void;
  readonly onProblem: (outcome: PinningOutcome) => void;
}

/** The exclusive CPUs of one pod, container by container (upstream: policy_static.go Allocate, GetTopologyHints). */
export class CpuDraft implements ResourceDraft {
  readonly #parts: CpuDraftParts;
  readonly #outcomes: PinningOutcome[] = [];
  #state: CpuState;
  /** CPUs of init containers, which end before the containers after them start. */
  #reusable: CpuSet = noCpus;

  constructor(parts: CpuDraftParts) {
    this.#parts = parts;
    this.#state = parts.state;
  }

  containerHints(container: Container): ResourceHints | undefined {
    const { pod } = this.#parts;
    const count = exclusiveCpuCount(pod, container);
    if (count === 0) return undefined;
    const own = this.#cpusOf(container);
    if (own !== undefined) return this.#hintsFor(own, noCpus, { count, has: own.size });
    return this.#hintsFor(this.#available(), this.#reusable, { count, has: count });
  }

  podHints(): ResourceHints | undefined {
    const { pod } = this.#parts;
    const count = podCpuCount(pod);
    if (count === 0) return undefined;
    let assigned: CpuSet = noCpus;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const own = this.#cpusOf(container);
      if (own === undefined) continue;
      const wanted = exclusiveCpuCount(pod, container);
      if (own.size !== wanted) return new Map([['cpu', []]]);
      assigned = assigned.union(own);
    }
    return this.#hintsFor(this.#available(), this.#reusable.union(assigned), { count, has: count });
  }

  allocate(container: Container, affinity: NumaMask | undefined): AllocationProblem | undefined {
    const { pod, policy } = this.#parts;
    const count = exclusiveCpuCount(pod, container);
    if (count === 0) return undefined;
    const own = this.#cpusOf(container);
    if (own !== undefined) {
      this.#noteReuse(container, own);
      this.#outcomes.push({ container: container.name, cpus: own, isKept: true });
      return undefined;
    }
    const available = this.#available().union(this.#reusable);
    const result =
      smtProblem(policy, this.#state.shared.union(this.#reusable), count) ??
      allocateCpus(policy, available, { count, affinity });
    if ('reason' in result) {
      this.#parts.onProblem({ container: container.name, cpus: undefined, isKept: false });
      return result;
    }
    this.#state = withAssignment(this.#state, { uid: pod.metadata.uid ?? '', name: container.name, cpus: result });
    this.#noteReuse(container, result);
    this.#outcomes.push({ container: container.name, cpus: result, isKept: false });
    return undefined;
  }

  commit(): void {
    this.#parts.onCommit(this.#state, this.#outcomes);
  }

  #available(): CpuSet {
    return this.#state.shared.difference(this.#parts.policy.reserved);
  }

  #cpusOf({ name }: Container): CpuSet | undefined {
    return cpusOf(this.#state, this.#parts.pod.metadata.uid ?? '', name);
  }

  #hintsFor(available: CpuSet, reusable: CpuSet, { count, has }: { count: number; has: number }): ResourceHints {
    const hints = has === count ? cpuHints(this.#parts.policy, { available, reusable, count }) : [];
    return new Map([['cpu', hints]]);
  }

  /** A sidecar keeps its CPUs: it runs beside the containers after it. */
  #noteReuse(container: Container, cpus: CpuSet): void {
    const isInit = (this.#parts.pod.spec.initContainers ?? []).includes(container);
    if (isInit && !isRestartableInit(container)) this.#reusable = this.#reusable.union(cpus);
    else this.#reusable = this.#reusable.difference(cpus);
  }
}
