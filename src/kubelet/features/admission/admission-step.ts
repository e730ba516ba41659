import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** What an operator's own step is asked. */
export interface AdmissionRequest {
  pod: Pod;
  node: Node;
  /** How often this step was asked about this pod, this time included. */
  attempt: number;
  /** Wall time since which the pod waits for admission. */
  sinceMs: number;
}

/**
 * `hold` keeps the pod Pending, with `why` shown to whoever asks, until one of: `until` settles, `retryAfterMs` is over, the desk is woken;
 * then the step is asked again. Without any of these it is asked again after a pause that grows.
 */
export type AdmissionAnswer =
  | { kind: 'admit' }
  | { kind: 'reject'; reason: string; message: string }
  | { kind: 'hold'; why: string; until?: Promise<unknown>; retryAfterMs?: number };

/**
 * A condition of the operator's own for starting pods on this node: what upstream's kubelet has to be patched for.
 * It is asked about pods that have never run here, never again about one that was admitted, whatever happens to the agent.
 */
export interface AdmissionStep {
  /** Shown in `explain` and in events. */
  name: string;
  /** `signal` aborts when the answer, or the hold that it was, is over. A throw, or no answer in time, is a failure of the step. */
  admit(request: AdmissionRequest, signal: AbortSignal): AdmissionAnswer | Promise<AdmissionAnswer>;
  /** How long an answer may take; 10 s unless said. */
  timeoutMs?: number;
  /** What a failure means: the pod waits and the step is asked again (`hold`, unless said), or the step is left out (`ignore`). */
  onFailure?: 'hold' | 'ignore';
}
