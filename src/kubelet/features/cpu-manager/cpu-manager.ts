import { emptyDraft } from '../../model/topology-hints.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import type { Logger } from '../../../base/log.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet, noCpus } from '../../model/cpu-set.ts';
import type { AllocationSource, Assignment, HintProvider, ResourceDraft } from '../../model/topology-hints.ts';
import type { CpuState } from './cpu-state.ts';
import { assignedCpus, cpusOf, encodeCpuCheckpoint, retainPods } from './cpu-state.ts';
import type { PinningOutcome } from './cpu-draft.ts';
import { CpuDraft } from './cpu-draft.ts';
import type { StaticPolicy } from './static-policy.ts';
import { exclusiveCpuCount } from './static-policy.ts';

/** Counts what the manager does. */
export interface CpuManagerObserver {
  /** Counts a container that got CPUs, from the node or from the pool of its pod. */
  assigned(assignment: Assignment): void;
  /** Counts a container, or a pod as a whole, that could not get CPUs. */
  refused(from: AllocationSource): void;
  /** Counts whether the exclusive CPUs of a container were aligned to whole cores or to one last-level cache. */
  aligned(boundary: 'physical_cpu' | 'uncore_cache', succeeded: boolean): void;
}

export interface CpuManagerParts {
  /** The static policy; undefined with the policy `none`, with which every container may use all CPUs. */
  readonly policy: StaticPolicy | undefined;
  /** The gate PodLevelResourceManagers, which determines the format of the state file. */
  readonly podLevel: boolean;
  readonly state: CpuState;
  readonly observer: CpuManagerObserver;
  readonly log: Logger;
}

/**
 * Assigns CPUs to containers (upstream: cm/cpumanager). Invariants:
 * 1. A CPU has at most one owner: the shared pool, or one pod. Containers of one pod share CPUs if they never run at
 *    the same time, or if they run in the shared part of the pod's own pool.
 * 2. The CPUs of a container do not change while its pod exists. Those of the shared pool change whenever a pod gets or
 *    returns CPUs.
 * 3. CPUs are returned only when the pod has ended.
 */
export class CpuManager implements HintProvider {
  readonly policyName: 'none' | 'static';
  readonly #parts: CpuManagerParts;
  readonly #listeners = new Set<() => void>();
  #state: CpuState;

  constructor(parts: CpuManagerParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.policyName = parts.policy === undefined ? 'none' : 'static';
  }

  begin(pod: Pod): ResourceDraft {
    const { policy, observer } = this.#parts;
    if (policy === undefined) return emptyDraft;
    return new CpuDraft({
      policy,
      state: this.#state,
      pod,
      onCommit: (state, outcomes) => this.#committed(pod, state, outcomes),
      onProblem: (from) => {
        observer.refused(from);
        if (from === 'node' && policy.options.fullPhysicalCpus) observer.aligned('physical_cpu', false);
      },
    });
  }

  /** Returns the CPUs on which the container may run; undefined with the policy `none` (upstream: GetCPUAffinity). */
  affinity(uid: string, container: string): CpuSet | undefined {
    if (this.#parts.policy === undefined) return undefined;
    return cpusOf(this.#state, uid, container) ?? this.#state.shared;
  }

  /**
   * Returns the exclusive CPUs of this container or, without a name, of the pod; undefined for none. Containers of a
   * pod with its own pool may share them.
   */
  exclusive(uid: string, container?: string): CpuSet | undefined {
    return cpusOf(this.#state, uid, container);
  }

  /** Whether no other container has CPUs of this one (upstream: GetResourceIsolationLevel). */
  isAlone(pod: Pod, container: Container): boolean {
    const { policy } = this.#parts;
    const uid = pod.metadata.uid ?? '';
    if (policy === undefined || cpusOf(this.#state, uid, container.name) === undefined) return false;
    return !this.#state.pools.has(uid) || exclusiveCpuCount(policy, pod, container) > 0;
  }

  /** Returns the CPUs that can be allocated exclusively; none with the policy `none` (upstream: GetAllocatableCPUs). */
  allocatable(): CpuSet {
    const { policy } = this.#parts;
    return policy === undefined ? noCpus : policy.topology.all.difference(policy.reserved);
  }

  /** Returns the CPUs of all other pods to the shared pool. */
  retain(isLive: (uid: string) => boolean): void {
    const next = retainPods(this.#state, isLive);
    if (next === this.#state) return;
    const freed = next.shared.difference(this.#state.shared);
    this.#parts.log.info('exclusive CPUs returned to the shared pool', {
      cpus: formatCpuSet(freed),
      defaultCpuSet: formatCpuSet(next.shared),
    });
    this.#become(next);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Returns the content of `cpu_manager_state`. */
  checkpoint(): string {
    const { podLevel } = this.#parts;
    return encodeCpuCheckpoint({ policy: this.policyName, ...this.#state }, { podLevel });
  }

  /** Returns the assignments, for metrics and the Pod Resources API. */
  usage(): { readonly sharedPool: CpuSet; readonly exclusive: CpuSet; readonly perNuma: ReadonlyMap<number, number> } {
    const { policy } = this.#parts;
    const exclusive = assignedCpus(this.#state);
    const counts = policy?.topology.countByNuma(exclusive) ?? [];
    return {
      sharedPool: this.#state.shared.difference(policy?.reserved ?? new Set()),
      exclusive,
      perNuma: new Map(counts.map((count, position) => [policy?.topology.numaIds[position] ?? position, count])),
    };
  }

  #committed(pod: Pod, state: CpuState, outcomes: readonly PinningOutcome[]): void {
    const { policy, observer, log } = this.#parts;
    for (const { container, cpus, from, isExclusive, isKept } of outcomes) {
      if (isKept) continue;
      const text = isExclusive ? 'exclusive CPUs allocated' : 'CPUs of the pod allocated';
      log.info(text, { pod: podKey(pod), container, cpus: formatCpuSet(cpus) });
      observer.assigned({ from, isExclusive });
      if (from === 'pod') continue;
      if (policy?.options.fullPhysicalCpus === true) observer.aligned('physical_cpu', true);
      if (policy?.topology.idsOf('uncore', cpus).size === 1) observer.aligned('uncore_cache', true);
    }
    const pool = this.#state.pools.has(pod.metadata.uid ?? '') ? undefined : state.pools.get(pod.metadata.uid ?? '');
    if (pool !== undefined && policy?.topology.idsOf('uncore', pool).size === 1) observer.aligned('uncore_cache', true);
    if (state !== this.#state) this.#become(state);
  }

  #become(state: CpuState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
