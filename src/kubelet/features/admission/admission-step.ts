import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** The input of an operator's own admission step. */
export interface AdmissionRequest {
  readonly pod: Pod;
  readonly node: Node;
  /** How often this step was called for this pod, including this call. */
  readonly attempt: number;
  /** Wall time since which the pod waits for admission. */
  readonly sinceMs: number;
}

/**
 * `hold` keeps the pod Pending and shows `why` to users. The step is called again when `until` settles, `retryAfterMs`
 * has passed or the manager is woken. Without any of these it is called again after a growing pause.
 */
export type AdmissionAnswer =
  | { kind: 'admit' }
  | { kind: 'reject'; reason: string; message: string }
  | { kind: 'hold'; why: string; until?: Promise<unknown>; retryAfterMs?: number };

/**
 * A condition of the operator's own for starting pods on this node, for which upstream's kubelet has to be patched. It
 * is called for pods that have never run here, and never again for one that was admitted, also across restarts of the
 * agent.
 */
export interface AdmissionStep {
  /** Shown in `explain` and in events. */
  readonly name: string;
  /**
   * `signal` aborts when the answer, or the hold that it returned, is no longer needed. A throw, or no answer in time,
   * is a failure of the step.
   */
  admit(request: AdmissionRequest, signal: AbortSignal): AdmissionAnswer | Promise<AdmissionAnswer>;
  /** How long an answer may take; 10 s by default. */
  readonly timeoutMs?: number;
  /**
   * What a failure means: the pod waits and the step is called again (`hold`, the default), or the step is skipped
   * (`ignore`).
   */
  readonly onFailure?: 'hold' | 'ignore';
}
