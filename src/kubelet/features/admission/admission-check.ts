import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

export interface Rejection {
  /** One word, such as `NodeAffinity`. It becomes `status.reason` of the pod and the reason of the event. */
  readonly reason: string;
  readonly message: string;
}

/** What the node knows when it decides whether a pod may run here. */
export interface AdmissionQuestion {
  readonly pod: Pod;
  readonly node: Node;
  /** The pods that are already admitted on the node, with their allocated resources. */
  readonly others: readonly Pod[];
}

/**
 * A check for one reason why a pod may not run here. It has no side effects, and returns undefined when the pod passes.
 */
export type AdmissionCheck = (question: AdmissionQuestion) => Rejection | undefined;
