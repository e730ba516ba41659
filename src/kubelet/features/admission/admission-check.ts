import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

export interface Rejection {
  /** One word, such as `NodeAffinity`: it becomes `status.reason` and the reason of the event. */
  readonly reason: string;
  readonly message: string;
}

/** What the node knows when it decides whether a pod may run here. */
export interface AdmissionQuestion {
  readonly pod: Pod;
  readonly node: Node;
  /** The pods that already have a place on the node, with their allocated resources. */
  readonly others: readonly Pod[];
}

/** One reason why a pod may not run here. Pure; undefined when the check passes. */
export type AdmissionCheck = (question: AdmissionQuestion) => Rejection | undefined;
