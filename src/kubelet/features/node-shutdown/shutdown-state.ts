import type { PodCondition, PodStatus } from '../../../api/core/pod-status.ts';
import { podConditionReasons, podReasons } from '../../../api/reasons.ts';
import type { PodEnding } from '../../model/pod-ending.ts';
import type { PodUid } from '../../model/ids.ts';

/** The message in the pod's status (upstream: nodeshutdown_manager.go). */
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';
const condition: PodCondition = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: podConditionReasons.terminationByKubelet,
  message: MESSAGE,
};
const ending: PodEnding = { reason: podReasons.terminated, message: MESSAGE, condition: condition };

/** Whether a saved status of an earlier run says that the pod ended because of a node shutdown. */
export function reportsShutdown(status: Pick<PodStatus, 'conditions'> | undefined): boolean {
  return status?.conditions?.some(({ type, message }) => type === condition.type && message === MESSAGE) === true;
}

/**
 * Stores whether the node is shutting down, and which pods ended because of it. Admission, the status of the node and
 * those of pods read it. Only the ShutdownManager writes it.
 */
export class ShutdownState {
  #isShuttingDown = false;
  readonly #ended = new Set<PodUid>();

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  set isShuttingDown(value: boolean) {
    this.#isShuttingDown = value;
  }

  /** Returns why the node is not ready. */
  problem(): string | undefined {
    return this.#isShuttingDown ? 'node is shutting down' : undefined;
  }

  /** Returns why the node accepts no new pod (upstream: Admit). */
  rejection(): { reason: string; message: string } | undefined {
    if (!this.#isShuttingDown) return undefined;
    return { reason: podReasons.nodeShutdown, message: 'Pod was rejected as the node is shutting down.' };
  }

  /** Records that the pod ends because of the shutdown. */
  end(uid: PodUid): void {
    this.#ended.add(uid);
  }

  /** Returns why the pod ends, for its status. */
  get(uid: PodUid): PodEnding | undefined {
    return this.#ended.has(uid) ? ending : undefined;
  }

  /** Forgets a pod that is removed or starts again. */
  forget(uid: PodUid): void {
    this.#ended.delete(uid);
  }

  ended(): readonly PodUid[] {
    return [...this.#ended];
  }
}
