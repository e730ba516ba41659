import { applyRuntimeClass, type AppliedRuntimeClass } from '../../../api/apply-runtime-class.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodSource } from '../../model/pod-update.ts';

interface Decided {
  given: Pod;
  /** undefined while the class does not exist. */
  result: AppliedRuntimeClass | undefined;
}

export interface RuntimeClassAdmissionOptions {
  lookup: (name: string) => RuntimeClass | undefined;
  /** Where pods go that have been through here. */
  setSource: (source: PodSource, pods: readonly Pod[], report?: { complete: boolean }) => void;
  log: Logger;
}

/**
 * Does for pods of a node without an API server what the API server does when a pod is made: gives them the overhead, the node selector and the
 * tolerations of their runtime class.
 * 1. Once: a pod keeps what its class said when it was first seen, whatever becomes of the class.
 * 2. A pod whose class is not there goes on without; its sandbox is refused until the class appears, and then it gets its share.
 * 3. One that contradicts its class goes on as it is, so that nothing that runs is lost; `refusal` says why it cannot start anew.
 */
export class RuntimeClassAdmission {
  readonly #options: RuntimeClassAdmissionOptions;
  readonly #sources = new Map<
    PodSource,
    { pods: readonly Pod[]; report: { complete: boolean } | undefined; decided: ReadonlyMap<string, Decided> }
  >();

  constructor(options: RuntimeClassAdmissionOptions) {
    this.#options = options;
  }

  setPods(source: PodSource, pods: readonly Pod[], report?: { complete: boolean }): void {
    const before = this.#sources.get(source)?.decided;
    const decided = new Map(pods.map((pod) => [pod.metadata.uid, this.#decide(pod, before?.get(pod.metadata.uid))]));
    this.#sources.set(source, { pods, report, decided });
    const admitted = pods.map((pod) => {
      const result = decided.get(pod.metadata.uid)?.result;
      return result?.kind === 'applied' ? result.pod : pod;
    });
    this.#options.setSource(source, admitted, report);
  }

  /** A runtime class appeared or changed: pods that had to do without are looked at again. */
  classChanged(name: string): void {
    for (const [source, { pods, report, decided }] of this.#sources) {
      const waiting = pods.some(
        (pod) => pod.spec.runtimeClassName === name && decided.get(pod.metadata.uid)?.result === undefined,
      );
      if (waiting) this.setPods(source, pods, report);
    }
  }

  /** Why no sandbox may be made for this pod. */
  refusal(uid: string): string | undefined {
    for (const { decided } of this.#sources.values()) {
      const result = decided.get(uid)?.result;
      if (result?.kind === 'refused') return result.message;
    }
    return undefined;
  }

  #decide(pod: Pod, before: Decided | undefined): Decided {
    if (before?.result !== undefined && before.given === pod) return before;
    const name = pod.spec.runtimeClassName ?? '';
    const runtimeClass = name === '' ? undefined : this.#options.lookup(name);
    if (runtimeClass === undefined) return { given: pod, result: undefined };
    const result = applyRuntimeClass(pod, runtimeClass);
    if (result.kind === 'refused')
      this.#options.log.error('pod contradicts its runtime class', {
        pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
        runtimeClass: name,
        error: result.message,
      });
    return { given: pod, result };
  }
}
