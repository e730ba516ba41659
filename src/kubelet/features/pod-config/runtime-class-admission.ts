import type { AppliedRuntimeClass } from '../../../api/apply-runtime-class.ts';
import { applyRuntimeClass } from '../../../api/apply-runtime-class.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodSource } from '../../model/pod-update.ts';

interface Decided {
  readonly given: Pod;
  /** The result; undefined while the class does not exist. */
  readonly result: AppliedRuntimeClass | undefined;
}

export interface RuntimeClassAdmissionOptions {
  readonly lookup: (name: string) => RuntimeClass | undefined;
  /** The next stage for processed pods. */
  readonly setSource: (source: PodSource, pods: readonly Pod[], report?: { complete: boolean }) => void;
  readonly log: Logger;
}

/**
 * Applies a runtime class on a standalone node, as the API server does when a pod is created: it adds the overhead, the
 * node selector and the tolerations of the class. Invariants:
 * 1. It is applied once: a pod keeps the values that its class had when the pod was first seen, whatever happens to the
 *    class.
 * 2. A pod without its class continues. Its sandbox is created only when the class appears, and then its values are
 *    added.
 * 3. Until its source has been read completely, a pod without its class is held back, because the class may not have
 *    been read yet. So a pod that ran before a restart of the agent never appears without its overhead.
 * 4. A pod that contradicts its class continues unchanged, so that running containers are not lost. `refusal` returns
 *    why it cannot start again.
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
    const admitted = pods.flatMap((pod) => {
      const result = decided.get(pod.metadata.uid)?.result;
      if (result === undefined && (pod.spec.runtimeClassName ?? '') !== '' && report?.complete === false) return [];
      return [result?.kind === 'applied' ? result.pod : pod];
    });
    this.#options.setSource(source, admitted, report);
  }

  /** Processes pods without their class again, because a runtime class appeared or changed. */
  classChanged(name: string): void {
    for (const [source, { pods, report, decided }] of this.#sources) {
      const waiting = pods.some(
        (pod) => pod.spec.runtimeClassName === name && decided.get(pod.metadata.uid)?.result === undefined,
      );
      if (waiting) this.setPods(source, pods, report);
    }
  }

  /** Returns why no sandbox may be created for this pod. */
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
