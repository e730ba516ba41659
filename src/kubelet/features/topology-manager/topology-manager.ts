import type { Pod } from '../../../api/core/pod.ts';
import { podReasons } from '../../../api/reasons.ts';
import { hasPodLevelResources } from '../../../api/resources.ts';
import type { AllocationProblem, HintProvider, NumaMask, ResourceDraft } from '../../model/topology-hints.ts';
import type { MergeFacts } from './merge-hints.ts';
import { mergeHints } from './merge-hints.ts';

/** Counts what the manager does. */
export interface TopologyManagerObserver {
  admitted(outcome: { readonly durationMs: number; readonly failed: boolean }): void;
  /** Counts whether all resources of a container or of a pod could be allocated on one NUMA node. */
  aligned(scope: 'container' | 'pod', succeeded: boolean): void;
}

export interface TopologyManagerParts {
  /** The policy; undefined with the policy `none`, with which resources are allocated one by one on any nodes. */
  readonly merge: MergeFacts | undefined;
  readonly scope: 'container' | 'pod';
  /** The gate PodLevelResourceManagers: a pod with pod-level resources gets them as a whole in the scope of the pod. */
  readonly podLevel: boolean;
  /** The providers in the order in which they allocate: devices, CPUs, memory. */
  readonly providers: readonly HintProvider[];
  readonly observer: TopologyManagerObserver;
  readonly monotonicMs: () => number;
}

interface Trial {
  readonly drafts: readonly ResourceDraft[];
  readonly problem: AllocationProblem | undefined;
  /** The number of containers, or pods, that have all resources on one node. */
  readonly aligned: number;
}

const notAligned: AllocationProblem = {
  reason: podReasons.topologyAffinityError,
  message: 'Resources cannot be allocated with Topology locality',
};

/** The rejection with upstream's texts (topology_manager.go PodLevelTopologyAffinityError). */
const podNotAligned = (scope: 'container' | 'pod'): AllocationProblem => ({
  reason: podReasons.topologyAffinityError,
  message:
    scope === 'pod'
      ? 'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager'
      : 'Pod Scope pod with pod-level resources failed admission with a container-level topology manager',
});

/**
 * Allocates the resources of a pod that belong to NUMA nodes, close together if the policy requires it (upstream:
 * cm/topologymanager).
 */
export class TopologyManager {
  readonly #parts: TopologyManagerParts;

  constructor(parts: TopologyManagerParts) {
    this.#parts = parts;
  }

  /** Returns why the pod cannot have its resources now, or undefined if it can. It allocates nothing. */
  check(pod: Pod): AllocationProblem | undefined {
    const startedMs = this.#parts.monotonicMs();
    const { problem } = this.#try(pod);
    if (problem !== undefined) this.#observe({ startedMs, failed: true, aligned: 0 });
    return problem;
  }

  /**
   * Allocates the resources of the pod, which keeps those that it has. If there is a problem, it returns it and
   * allocates nothing.
   */
  allocate(pod: Pod): AllocationProblem | undefined {
    const startedMs = this.#parts.monotonicMs();
    const { drafts, problem, aligned } = this.#try(pod);
    this.#observe({ startedMs, failed: problem !== undefined, aligned });
    if (problem === undefined) for (const draft of drafts) draft.commit();
    return problem;
  }

  #try(pod: Pod): Trial {
    const { providers, merge, scope, podLevel } = this.#parts;
    const isPodLevel = podLevel && hasPodLevelResources(pod);
    const refused = isPodLevel ? podNotAligned(scope) : notAligned;
    const drafts = providers.map((provider) => provider.begin(pod));
    const podPlace =
      merge !== undefined && scope === 'pod'
        ? place(
            drafts.map((draft) => draft.podHints()),
            merge,
          )
        : undefined;
    if (podPlace?.admit === false) return { drafts, problem: refused, aligned: 0 };
    let aligned = podPlace === undefined ? 0 : 1;
    const asWhole = podPlace !== undefined && isPodLevel;
    if (asWhole)
      for (const draft of drafts) {
        const problem = draft.allocatePod?.(podPlace.affinity);
        if (problem !== undefined) return { drafts, problem, aligned };
      }
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      let affinity: NumaMask | undefined = podPlace?.affinity;
      if (merge !== undefined && podPlace === undefined) {
        const own = place(
          drafts.map((draft) => draft.containerHints(container)),
          merge,
        );
        if (!own.admit) return { drafts, problem: refused, aligned };
        affinity = own.affinity;
        aligned += 1;
      }
      for (const draft of drafts) {
        if (asWhole && draft.allocatePod !== undefined) continue;
        const problem = draft.allocate(container, affinity);
        if (problem !== undefined) return { drafts, problem, aligned };
      }
    }
    return { drafts, problem: undefined, aligned };
  }

  #observe({ startedMs, failed, aligned }: { startedMs: number; failed: boolean; aligned: number }): void {
    const { observer, monotonicMs, merge, scope } = this.#parts;
    observer.admitted({ durationMs: monotonicMs() - startedMs, failed: failed && merge !== undefined });
    if (merge?.policy !== 'single-numa-node') return;
    if (failed) observer.aligned(scope, false);
    else for (let count = 0; count < aligned; count += 1) observer.aligned(scope, true);
  }
}

function place(
  hints: Parameters<typeof mergeHints>[0],
  facts: MergeFacts,
): { readonly affinity: NumaMask | undefined; readonly admit: boolean } {
  const { hint, admit } = mergeHints(hints, facts);
  return { affinity: hint.affinity, admit };
}
