import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** The input of an operator's own admission step. */
export interface AdmissionRequest {
  readonly pod: Pod;
  readonly node: Node;
  /** How many times this step was called for this pod, including this call. */
  readonly attempt: number;
  /** The wall-clock time when the pod began to wait for admission. */
  readonly sinceMs: number;
}

/**
 * The answer of a step. `hold` keeps the pod Pending and shows `why` to users. The step is called again when `until`
 * settles, when `retryAfterMs` has passed or when the manager is woken. If neither is set, it is called again after
 * growing pauses.
 */
export type AdmissionAnswer =
  | { kind: 'admit' }
  | { kind: 'reject'; reason: string; message: string }
  | { kind: 'hold'; why: string; until?: Promise<unknown>; retryAfterMs?: number };

/**
 * A condition that the operator sets for starting pods on this node. Upstream's kubelet would need a patch for it. A
 * step is called for pods that have never run here. It is not called again for an admitted pod, not even after a
 * restart of the agent.
 */
export interface AdmissionStep {
  /** Shown in `explain` and in events. */
  readonly name: string;
  /**
   * Decides about the pod. `signal` aborts when the answer, or the hold that it returned, is no longer needed. The step
   * fails if it throws or does not answer in time.
   */
  admit(request: AdmissionRequest, signal: AbortSignal): AdmissionAnswer | Promise<AdmissionAnswer>;
  /** The time limit of an answer in milliseconds; default 10 s. */
  readonly timeoutMs?: number;
  /**
   * What a failure of the step means for the pod. `hold` (the default): the pod waits and the step is called again.
   * `ignore`: the step is skipped.
   */
  readonly onFailure?: 'hold' | 'ignore';
}
