import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';

export interface Rejection {
  /** One word, such as `NodeAffinity`: it becomes `status.reason` and the reason of the event. */
  reason: string;
  message: string;
}

/** What the node knows when it is asked whether a pod may run here. */
export interface AdmissionQuestion {
  pod: Pod;
  node: Node;
  /** The pods that have their place already, each with the resources it was granted. */
  others: readonly Pod[];
}

/** One reason why a pod may not run here. Pure; undefined when it has nothing against the pod. */
export type AdmissionCheck = (question: AdmissionQuestion) => Rejection | undefined;
